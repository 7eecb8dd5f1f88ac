import FoundationEssentials

/// The B2B tokens and the used values of `X-EXTERNAL-ID`, as one value.
struct SnapLedger: Sendable {
  /// Seconds for which an `X-EXTERNAL-ID` is remembered.
  static let day = 86_400.0

  private let tokenGenerator: TokenGenerator
  private var tokens = ExpiringTable<Bool>()
  private var externalIDs = ExpiringTable<Bool>()

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  mutating func issueToken(seconds: Int, now: Date) -> String {
    let token = tokenGenerator.token("b2b")
    tokens.insert(true, for: token, until: now.addingTimeInterval(Double(seconds)), now: now)
    return token
  }

  func isToken(_ token: String, now: Date) -> Bool { tokens.value(token, now: now) != nil }

  mutating func endTokens() { tokens = ExpiringTable() }

  /// Records an `X-EXTERNAL-ID`; returns false if it was used within the last 24 hours.
  mutating func use(externalID: String, now: Date) -> Bool {
    guard externalIDs.value(externalID, now: now) == nil else { return false }
    externalIDs.insert(true, for: externalID, until: now.addingTimeInterval(Self.day), now: now)
    return true
  }
}
