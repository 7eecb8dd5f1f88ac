import FoundationEssentials

/// The numbers of `POST /otp/generate`, which people type at sites. Each person has at most one.
struct BSALoginNumbers: Sendable {
  private struct Number: Sendable {
    let code: String
    var attemptsLeft: Int
  }

  static let digits = 6

  private let tokenGenerator: TokenGenerator
  private var table = ExpiringTable<Number>()

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  /// Generates a number, which replaces the previous one.
  mutating func generate(for userKey: String, _ settings: BSABackendSettings, now: Date) -> String {
    let code = tokenGenerator.digits(Self.digits)
    table.insert(
      Number(code: code, attemptsLeft: settings.attempts), for: userKey,
      until: now.addingTimeInterval(Double(settings.loginNumberSeconds)), now: now)
    return code
  }

  /// Uses up the number that was typed; throws 3006 if there is none, 3005 if it is wrong.
  mutating func redeem(_ code: String, of userKey: String, now: Date) throws(BSARefusal) {
    guard let number = table.value(userKey, now: now) else { throw .numberOver }
    guard number.code == code else {
      table.update(userKey) { $0.attemptsLeft -= 1 }
      if number.attemptsLeft <= 1 { table.remove(userKey) }
      throw .wrongNumber
    }
    table.remove(userKey)
  }

  /// Removes a number; returns false if it does not exist or has expired.
  mutating func remove(_ code: String, now: Date) -> Bool {
    let keys = table.listing.filter { $0.value.code == code && $0.expires > now }.map(\.key)
    for key in keys { table.remove(key) }
    return !keys.isEmpty
  }

  mutating func removeAll() { table = ExpiringTable() }
}
