import FoundationEssentials

/// The config tokens, which a client gets without a customer, and their fingerprints.
struct ConfigTokens: Sendable {
  struct Token: Sendable, Hashable {
    let clientID: String
    let brand: String
    let fingerprint: String
  }

  private let tokenGenerator: TokenGenerator
  /// Tokens by their id.
  private(set) var table = ExpiringTable<Token>()

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  mutating func issue(
    _ client: Client, _ brand: Brand, seconds: Int, now: Date
  ) -> (id: String, fingerprint: String) {
    let id = tokenGenerator.token("ct")
    let fingerprint = tokenGenerator.token("df")
    table.insert(
      Token(clientID: client.id, brand: brand.identity, fingerprint: fingerprint), for: id,
      until: now.addingTimeInterval(Double(seconds)), now: now)
    return (id, fingerprint)
  }

  func isLive(_ id: String, now: Date) -> Bool { table.value(id, now: now) != nil }

  /// Whether the fingerprint was issued to this client and brand with a token that is still valid.
  func knows(_ fingerprint: String, _ client: Client, _ brand: Brand, now: Date) -> Bool {
    let wanted = Token(clientID: client.id, brand: brand.identity, fingerprint: fingerprint)
    return table.key { $0 == wanted }.map { isLive($0, now: now) } ?? false
  }
}
