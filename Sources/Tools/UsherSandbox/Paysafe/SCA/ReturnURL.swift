import FoundationEssentials

/// The address to which the browser returns from a page of the provider.
struct ReturnURL: Sendable, Hashable {
  /// The address as given.
  let text: String
  /// The address without its query, for comparisons.
  let address: String
  let isLoopback: Bool

  private static let limit = 2048

  /// Returns nil if the text is not an absolute http or https URL, has a fragment or user
  /// information, or is longer than 2048 bytes.
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
