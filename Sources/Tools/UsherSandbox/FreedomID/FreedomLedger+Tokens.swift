import FoundationEssentials

/// A pair of tokens and what it permits. A renewal keeps the id unless `newIdOnRefresh` is set.
struct FreedomToken: Sendable, Hashable {
  enum Use: Sendable, Hashable {
    /// Full access from one device. As long as the token lasts, the account is tied to this device.
    case device(String)
    /// The grants that a person gave the partner.
    case partner(grants: [String])
    case openID(FreedomOpenIDRequest, authTime: Date)
  }

  let id: String
  /// The id of the person.
  let person: String
  let use: Use
  let issued: Date
  var access: String
  var refresh: String
  var accessExpires: Date
  var refreshExpires: Date
  var isEnded = false

  var device: String? {
    guard case .device(let device) = use else { return nil }
    return device
  }

  var grants: [String]? {
    guard case .partner(let grants) = use else { return nil }
    return grants
  }

  /// The members in the responses of both token endpoints.
  var members: [String: JSON] {
    [
      "id": .string(id), "access_token": .string(access), "refresh_token": .string(refresh),
      "access_expire_at": accessExpires.freedomTime,
      "refresh_expire_at": refreshExpires.freedomTime,
    ]
  }
}

/// A code that can be redeemed once for tokens.
struct FreedomCode: Sendable, Hashable {
  let person: String
  let use: FreedomToken.Use
}

extension FreedomLedger {
  /// The number of characters in a token.
  private static let tokenLength = 128

  mutating func issue(
    _ use: FreedomToken.Use, to person: String, _ settings: FreedomIDBackendSettings, now: Date
  ) -> FreedomToken {
    let token = FreedomToken(
      id: tokenGenerator.uuid(), person: person, use: use, issued: now,
      access: tokenGenerator.alphanumerics(Self.tokenLength),
      refresh: tokenGenerator.alphanumerics(Self.tokenLength),
      accessExpires: now.addingTimeInterval(Double(settings.accessTokenSeconds)),
      refreshExpires: now.addingTimeInterval(Double(settings.refreshTokenSeconds)))
    tokens.insert(token, for: token.id, until: .distantFuture, now: now)
    return token
  }

  /// Ties an account to a device; ends the tokens of an earlier tie.
  mutating func bind(
    _ person: String, to device: String, _ settings: FreedomIDBackendSettings, now: Date
  ) -> FreedomToken {
    tokens.updateAll {
      if $0.use == .device(device), $0.person == person { $0.isEnded = true }
    }
    return issue(.device(device), to: person, settings, now: now)
  }

  /// Returns the people whose accounts are tied to a device, in the order in which they were tied.
  func people(boundTo device: String) -> [FreedomIDUser] {
    tokens.values.filter { $0.use == .device(device) && !$0.isEnded }
      .compactMap { person($0.person) }
  }

  /// Returns a token by its access token; nil if it is unknown, ended or expired.
  func token(access: String, now: Date) -> FreedomToken? {
    tokens.values.first { $0.access == access && !$0.isEnded && $0.accessExpires > now }
  }

  /// Returns a token by its refresh token; nil if it is unknown, ended or expired.
  func token(refresh: String, now: Date) -> FreedomToken? {
    tokens.values.first { $0.refresh == refresh && !$0.isEnded && $0.refreshExpires > now }
  }

  /// Replaces both tokens of a pair; the old ones become invalid.
  mutating func renew(
    _ token: FreedomToken, _ settings: FreedomIDBackendSettings, now: Date
  ) -> FreedomToken {
    if settings.newIdOnRefresh {
      end(token.id)
      return issue(token.use, to: token.person, settings, now: now)
    }
    var renewed = token
    renewed.access = tokenGenerator.alphanumerics(Self.tokenLength)
    renewed.refresh = tokenGenerator.alphanumerics(Self.tokenLength)
    renewed.accessExpires = now.addingTimeInterval(Double(settings.accessTokenSeconds))
    renewed.refreshExpires = now.addingTimeInterval(Double(settings.refreshTokenSeconds))
    tokens.update(token.id) { $0 = renewed }
    return renewed
  }

  mutating func end(_ id: String) {
    tokens.update(id) { $0.isEnded = true }
  }

  mutating func issueCode(
    _ use: FreedomToken.Use, to person: String, _ settings: FreedomIDBackendSettings, now: Date
  ) -> String {
    let code = tokenGenerator.alphanumerics(43)
    codes.insert(
      FreedomCode(person: person, use: use), for: code,
      until: now.addingTimeInterval(Double(settings.codeSeconds)), now: now)
    return code
  }

  /// Redeems a code; nil if it is unknown, redeemed or expired.
  mutating func spend(_ code: String, now: Date) -> FreedomCode? {
    guard let known = codes.value(code, now: now) else { return nil }
    codes.remove(code)
    return known
  }
}
