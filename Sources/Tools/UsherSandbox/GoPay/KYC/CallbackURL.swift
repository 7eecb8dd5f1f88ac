import FoundationEssentials

/// A partner's callback address. It is on loopback, so that no callback leaves this machine.
struct CallbackURL: Sendable, Hashable {
  /// The address as given.
  let text: String
  /// The host without brackets, as needed to connect.
  let host: String
  let port: Int
  /// The path and the query.
  let target: String

  /// Returns nil unless the text is `http://127.0.0.1:PORT/…` or `http://[::1]:PORT/…`.
  init?(_ text: String) {
    guard let url = ReturnURL(text), url.isLoopback, text.hasPrefix("http://"),
      let parts = URLComponents(string: text), let host = parts.host, let port = parts.port,
      (1...65_535).contains(port)
    else { return nil }
    self.text = text
    self.host = host.filter { $0 != "[" && $0 != "]" }
    self.port = port
    let path = parts.percentEncodedPath
    target = (path.isEmpty ? "/" : path) + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
  }
}
