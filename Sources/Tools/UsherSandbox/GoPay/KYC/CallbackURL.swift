import FoundationEssentials

/// Where a partner takes callbacks: on loopback, because nothing leaves this machine.
struct CallbackURL: Sendable, Hashable {
  /// As it was given.
  let text: String
  /// As a connection needs it, without brackets.
  let host: String
  let port: Int
  /// With the query.
  let target: String

  /// Nil for anything but `http://127.0.0.1:PORT/…` and `http://[::1]:PORT/…`.
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
