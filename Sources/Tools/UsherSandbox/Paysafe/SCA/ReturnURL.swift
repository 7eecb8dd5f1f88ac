import FoundationEssentials

/// Where the browser goes back to from a page of the provider.
struct ReturnURL: Sendable, Hashable {
  /// As it was given.
  let text: String
  /// Without the query: what is compared.
  let address: String
  let isLoopback: Bool

  private static let limit = 2048

  /// Nil for what is no absolute http or https address, or has a fragment or a name in front of
  /// its host.
  init?(_ text: String) {
    guard text.utf8.count <= Self.limit, text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }),
      !text.contains("#"), let parts = URLComponents(string: text),
      let scheme = parts.scheme, ["http", "https"].contains(scheme.lowercased()),
      let host = parts.host, !host.isEmpty, parts.user == nil, parts.password == nil
    else { return nil }
    self.text = text
    address = String(text.prefix { $0 != "?" })
    isLoopback = ["127.0.0.1", "::1", "[::1]"].contains(host)
  }
}
