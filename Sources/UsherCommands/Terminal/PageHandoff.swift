import Dispatch
import Glibc

/// A local URL that redirects one user's browser to a page, once and within half a minute.
///
/// A request by another user is refused, and the URL still works afterwards.
final class PageHandoff: Sendable {
  /// How many seconds the browser has to start and request the URL.
  private static let seconds = 30

  let url: String
  private let page: String
  private let user: UInt32
  private let listener: CInt
  private let port: UInt16
  /// The random path of the URL. A request must also name the right host, as protection against DNS
  /// rebinding.
  private let path: String

  /// Creates a handoff; nil if the page's URL cannot be the value of a header, or if no port is
  /// free.
  init?(to page: String, for user: UInt32) {
    guard page.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
      let listener = Self.listen(), let port = Self.port(of: listener)
    else { return nil }
    var random = SystemRandomNumberGenerator()
    let name = (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
    self.page = page
    self.user = user
    self.listener = listener
    self.port = port
    path = "/\(name)"
    url = "http://127.0.0.1:\(port)/\(name)"
  }

  /// Starts to answer requests in the background. The server stops by itself after the redirect or
  /// the time limit.
  func serve() {
    DispatchQueue(label: "usherctl.page").async {
      var server = HandoffServer(listener: self.listener)
      server.run(within: Self.seconds) { self.reply(to: $0, from: $1) }
    }
  }

  /// Returns the response to a request.
  ///
  /// - Returns: The response, and whether it redirects the browser to the page.
  private func reply(to request: [Substring], from client: UInt16) -> (text: String, isLast: Bool) {
    guard request.first == "GET \(path) HTTP/1.1",
      request.contains(where: { $0.lowercased() == "host: 127.0.0.1:\(port)" })
    else { return (Self.response("404 Not Found"), false) }
    guard TCPTable.owner(ofClientAt: client, ofServerAt: port) == user else {
      return (Self.response("403 Forbidden"), false)
    }
    return (Self.response("302 Found", "Location: \(page)\r\n"), true)
  }

  private static func response(_ status: String, _ more: String = "") -> String {
    "HTTP/1.1 \(status)\r\n\(more)Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
      + "Content-Length: 0\r\nConnection: close\r\n\r\n"
  }

  private static func listen() -> CInt? {
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_INET, kind | CInt(SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
    }
    guard isBound, Glibc.listen(descriptor, 16) == 0 else {
      close(descriptor)
      return nil
    }
    return descriptor
  }

  private static func port(of descriptor: CInt) -> UInt16? {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    return result == 0 ? UInt16(bigEndian: address.sin_port) : nil
  }
}

/// A small HTTP server: reads the heads of a few requests at a time, and closes each connection
/// after its response.
private struct HandoffServer {
  private static let maxConnections = 32
  private static let maxHeadBytes = 16 * 1024

  private struct Connection {
    let descriptor: CInt
    /// The TCP port of the client.
    let client: UInt16
    var head: [UInt8] = []
  }

  let listener: CInt
  private var connections: [Connection] = []

  init(listener: CInt) { self.listener = listener }

  /// Serves requests until the last response is sent or the time is over; then closes all sockets.
  mutating func run(
    within seconds: Int, _ reply: ([Substring], UInt16) -> (text: String, isLast: Bool)
  ) {
    defer {
      for connection in connections { close(connection.descriptor) }
      close(listener)
    }
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end {
      var waiting = ([listener] + connections.map(\.descriptor))
        .map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      _ = poll(&waiting, nfds_t(waiting.count), 500)
      for ready in waiting.dropFirst() where ready.revents != 0 {
        if read(from: ready.fd, reply) { return }
      }
      if waiting[0].revents != 0 { accept() }
    }
  }

  private mutating func accept() {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.accept(listener, $0, &size) }
    }
    guard descriptor >= 0 else { return }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    // A browser sends its request at once, so the oldest idle connection is not the browser's.
    if connections.count >= Self.maxConnections { close(connections.removeFirst().descriptor) }
    connections.append(
      Connection(descriptor: descriptor, client: UInt16(bigEndian: address.sin_port)))
  }

  /// Reads from a connection of the browser, and answers its HTTP request when the request's header
  /// has arrived completely.
  ///
  /// - Returns: Whether the last response was sent.
  private mutating func read(
    from descriptor: CInt, _ reply: ([Substring], UInt16) -> (text: String, isLast: Bool)
  ) -> Bool {
    guard let place = connections.firstIndex(where: { $0.descriptor == descriptor }) else {
      return false
    }
    var chunk = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    if count < 0, errno == EAGAIN { return false }
    connections[place].head += chunk.prefix(max(count, 0))
    let head = String(decoding: connections[place].head, as: UTF8.self)
    let isComplete = head.contains("\r\n\r\n")
    guard isComplete || count <= 0 || head.utf8.count > Self.maxHeadBytes else { return false }
    let connection = connections.remove(at: place)
    defer { close(descriptor) }
    guard isComplete else { return false }
    let answer = reply(head.split(separator: "\r\n"), connection.client)
    let bytes = Array(answer.text.utf8)
    return send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count && answer.isLast
  }
}

/// Finds the user of a TCP connection in the kernel's list `/proc/net/tcp` (proc(5)), because TCP
/// has no peer credentials.
private enum TCPTable {
  /// Returns the user id of the client's socket of a connection on 127.0.0.1; nil if it is unknown.
  static func owner(ofClientAt client: UInt16, ofServerAt server: UInt16) -> UInt32? {
    guard let file = fopen("/proc/self/net/tcp", "re") else { return nil }
    defer { fclose(file) }
    let ends = [client, server].map { "0100007F:\($0.hexadecimal.uppercased())" }
    var line: UnsafeMutablePointer<CChar>?
    var room = 0
    defer { free(line) }
    while getline(&line, &room, file) > 0, let line {
      let columns = String(cString: line).split(separator: " ", maxSplits: 10)
      // Inode 0 means that no process has the socket open any more.
      guard columns.count > 9, columns[1] == ends[0], columns[2] == ends[1], columns[9] != "0"
      else { continue }
      return UInt32(columns[7])
    }
    return nil
  }
}
