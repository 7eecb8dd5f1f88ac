import Foundation

/// An HTTP client without cookies: one request per connection; redirects are not followed.
package enum Web {
  package struct Reply: Sendable {
    package var status: Int
    package var headers: [String: String]
    package var body: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }
    package var location: String? { headers["location"] }
  }

  package static func get(_ url: String) throws -> Reply { try send("GET", url) }

  package static func post(_ url: String, form: [String: String]) throws -> Reply {
    let text = form.map { "\(escape($0))=\(escape($1))" }.joined(separator: "&")
    return try send(
      "POST", url, body: Array(text.utf8), type: "application/x-www-form-urlencoded")
  }

  package static func send(_ method: String, _ url: String, json: [UInt8]?) throws -> Reply {
    try send(method, url, body: json, type: "application/json")
  }

  /// - Parameter extra: More headers; `Host` replaces the default.
  package static func send(
    _ method: String, _ url: String, body: [UInt8]? = nil, type: String = "text/plain",
    headers extra: [String: String] = [:], within seconds: Int = 60
  ) throws -> Reply {
    guard let parts = URLComponents(string: url), let host = parts.host, let port = parts.port
    else { throw TestError("not a loopback URL: \(url)") }
    let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    let target = path + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
    var request = "\(method) \(target) HTTP/1.1\r\nConnection: close\r\n"
    let headers = ["Host": "\(host):\(port)"].merging(extra) { _, extra in extra }
    for (name, value) in headers { request += "\(name): \(value)\r\n" }
    if let body { request += "Content-Type: \(type)\r\nContent-Length: \(body.count)\r\n" }
    let deadline = TestDeadline(within: Double(seconds))
    let socket = try TestSocket(connectedTo: .loopback(port: UInt16(port)), by: deadline)
    try socket.send(Array((request + "\r\n").utf8) + (body ?? []), by: deadline)
    var bytes: [UInt8] = []
    while let more = try? socket.receive(by: deadline) { bytes += more }
    return try parse(bytes)
  }

  private static func parse(_ bytes: [UInt8]) throws -> Reply {
    guard let message = split(bytes) else { throw TestError("the server sent no HTTP response") }
    let isChunked = message.headers["transfer-encoding"] == "chunked"
    return Reply(
      status: message.firstLine.dropFirst().first.flatMap { Int($0) } ?? 0,
      headers: message.headers, body: isChunked ? unchunked(message.body) : message.body)
  }

  /// Splits a message into the words of its first line, its headers, with names in lower case, and
  /// its body. Returns nil if the headers are incomplete.
  package static func split(
    _ bytes: [UInt8]
  ) -> (firstLine: [String], headers: [String: String], body: [UInt8])? {
    let mark = Array("\r\n\r\n".utf8)
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) else {
      return nil
    }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    let words = lines[0].split(separator: " ").map(String.init)
    return (words, headers, Array(bytes[(end + 4)...]))
  }

  private static func unchunked(_ bytes: [UInt8]) -> [UInt8] {
    var rest = bytes[...]
    var body: [UInt8] = []
    while let end = rest.firstIndex(of: 0x0D),
      let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), size > 0
    {
      rest = rest[(end + 2)...]
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return body
  }

  private static func escape(_ text: String) -> String {
    var allowed = CharacterSet.alphanumerics
    allowed.insert(charactersIn: "-._~")
    return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
  }
}

/// A person at the sandbox's pages, without a browser: reads the forms and submits them.
package enum Person {
  /// Signs in and allows or denies; returns the response that redirects the browser.
  package static func decide(
    at url: String, user: String = "alice", allow: Bool = true, userCode: String? = nil
  ) throws -> Web.Reply {
    let page = try Web.get(url).text
    var form = try hidden(in: page)
    let path = page.firstMatch(of: /action="([^"]*)\/login"/).map { String($0.1) } ?? "/oidc"
    let base = "http://127.0.0.1:\(URLComponents(string: url)?.port ?? 0)\(path)"
    form["username"] = user
    form["password"] = "\(user)-password"
    form["action"] = "login"
    form["user_code"] = userCode
    form = try hidden(in: Web.post("\(base)/login", form: form).text)
    form["decision"] = allow ? "allow" : "deny"
    return try Web.post("\(base)/consent", form: form)
  }

  /// Returns the address and the fields of the form with which a page answers the client.
  package static func answer(
    in page: Web.Reply
  ) throws -> (address: String, fields: [String: String]) {
    guard let form = page.text.firstMatch(of: /id="answer" method="post" action="([^"]*)"/) else {
      throw TestError("the provider did not answer: \(page.text)")
    }
    var fields: [String: String] = [:]
    for match in page.text.matches(of: /type="hidden" name="([^"]*)" value="([^"]*)"/) {
      fields[String(match.1)] = plain(match.2)
    }
    return (plain(form.1), fields)
  }

  private static func plain(_ html: Substring) -> String {
    let marks = ["&lt;": "<", "&gt;": ">", "&quot;": "\"", "&#39;": "'"]
    return marks.reduce(String(html)) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
      .replacingOccurrences(of: "&amp;", with: "&")
  }

  /// Sends the provider's answer to the daemon's listener, as a browser does: by following a
  /// redirect or by posting a form.
  @discardableResult
  package static func deliver(_ reply: Web.Reply) throws -> Web.Reply {
    if let back = reply.location { return try Web.get(back) }
    let answer = try answer(in: reply)
    return try Web.post(answer.address, form: answer.fields)
  }

  /// Signs in, and delivers the provider's answer to the daemon's listener.
  @discardableResult
  package static func signIn(
    at url: String, user: String = "alice", allow: Bool = true
  ) throws -> Web.Reply {
    let reply = try decide(at: url, user: user, allow: allow)
    // A restarted daemon opens its redirect listeners shortly after its socket.
    let deadline = TestDeadline()
    while true {
      let isLast = deadline.isOver
      do {
        return try deliver(reply)
      } catch let failure as TestError where "\(failure)".contains("cannot connect") && !isLast {
        poll(nil, 0, 10)
      }
    }
  }

  private static func hidden(in page: String) throws -> [String: String] {
    var fields: [String: String] = [:]
    for match in page.matches(of: /name="(transaction|csrf)" value="([^"]*)"/) {
      fields[String(match.1)] = String(match.2)
    }
    guard fields.count == 2 else {
      throw TestError("not a page with a form of the sandbox: \(page)")
    }
    return fields
  }
}
