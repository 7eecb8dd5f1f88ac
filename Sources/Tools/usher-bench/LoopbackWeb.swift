import Glibc

/// An HTTP client for servers on 127.0.0.1: one request per connection; redirects are not followed.
enum LoopbackWeb {
  struct Reply {
    let status: Int
    /// The values by lower-case names.
    let headers: [String: String]
    let body: String
  }

  static func get(_ url: String) throws -> Reply { try send("GET", url) }

  static func post(_ url: String, form: [String: String]) throws -> Reply {
    let text = form.map { "\($0.percentEncoded)=\($1.percentEncoded)" }.joined(separator: "&")
    return try send("POST", url, type: "application/x-www-form-urlencoded", body: text)
  }

  static func post(_ url: String, json: String) throws -> Reply {
    try send("POST", url, type: "application/json", body: json)
  }

  private static func send(
    _ method: String, _ url: String, type: String? = nil, body: String = ""
  ) throws -> Reply {
    let scheme = "http://127.0.0.1:"
    let digits = url.dropFirst(scheme.count).prefix { $0.isNumber }
    guard url.hasPrefix(scheme), let port = UInt16(digits) else {
      throw BenchError("not an address on 127.0.0.1: \(url)")
    }
    let path = url.dropFirst(scheme.count + digits.count)
    var head = "\(method) \(path.isEmpty ? "/" : path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
    head += "Connection: close\r\n"
    if let type { head += "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n" }
    return try reply(in: exchange(Array("\(head)\r\n\(body)".utf8), port))
  }

  private static func exchange(_ request: [UInt8], _ port: UInt16) throws -> [UInt8] {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
    }
    guard result == 0 else { throw BenchError("no server listens at 127.0.0.1:\(port)") }
    guard Glibc.send(descriptor, request, request.count, CInt(MSG_NOSIGNAL)) == request.count
    else { throw BenchError("127.0.0.1:\(port) closed the connection") }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { return bytes }
      bytes += chunk.prefix(count)
    }
  }

  /// - Throws: `BenchError` if the bytes are not an HTTP response.
  static func reply(in bytes: [UInt8]) throws -> Reply {
    let mark = Array("\r\n\r\n".utf8)
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) else {
      throw BenchError("the response is not HTTP")
    }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    guard let status else { throw BenchError("the response is not HTTP") }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      headers[line[..<colon].lowercased()] = String(value)
    }
    var body = bytes[(end + mark.count)...]
    if headers["transfer-encoding"] == "chunked" { body = joined(body)[...] }
    return Reply(status: status, headers: headers, body: String(decoding: body, as: UTF8.self))
  }

  /// Joins the chunks of a body (RFC 9112, 7.1), up to the last complete one.
  private static func joined(_ chunks: ArraySlice<UInt8>) -> [UInt8] {
    var (rest, body) = (chunks, [UInt8]())
    while let end = rest.firstIndex(of: UInt8(ascii: "\r")),
      let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16),
      size > 0, rest.distance(from: end, to: rest.endIndex) >= size + 4
    {
      rest = rest[(end + 2)...]
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return body
  }
}

extension String {
  /// The string encoded for a form: every byte except ASCII letters, digits and `-._~` becomes
  /// `%XX`.
  var percentEncoded: String {
    utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        return String(UnicodeScalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        return "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }.joined()
  }
}
