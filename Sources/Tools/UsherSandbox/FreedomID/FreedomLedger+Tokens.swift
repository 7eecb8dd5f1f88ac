import FoundationEssentials

/// A pair of tokens and what it opens. The id outlives a renewal.
struct FreedomToken: Sendable, Hashable {
  enum Use: Sendable, Hashable {
    /// Everything, for one device: while it is there, the account is tied to it.
    case device(String)
    /// What a person allowed the partner.
    case partner(grants: [String])
    case openID(FreedomOpenIDRequest, authTime: Date)
  }

  let id: String
  /// The person's id.
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

  /// As both token endpoints answer it.
  var members: [String: JSON] {
    [
      "id": .string(id), "access_token": .string(access), "refresh_token": .string(refresh),
      "access_expire_at": accessExpires.freedomTime,
      "refresh_expire_at": refreshExpires.freedomTime,
    ]
  }
}

/// What is redeemed for tokens, once.
struct FreedomCode: Sendable, Hashable {
  let person: String
  let use: FreedomToken.Use
}

extension FreedomLedger {
  /// Characters of a token.
  private static let tokenLength = 128

  mutating func issue(
    _ use: FreedomToken.Use, to person: String, _ settings: FreedomSettings, now: Date
  ) -> FreedomToken {
    let token = FreedomToken(
      id: mint.uuid(), person: person, use: use, issued: now,
      access: mint.alphanumerics(Self.tokenLength), refresh: mint.alphanumerics(Self.tokenLength),
      accessExpires: now.addingTimeInterval(Double(settings.accessTokenSeconds)),
      refreshExpires: now.addingTimeInterval(Double(settings.refreshTokenSeconds)))
    tokens.insert(token, for: token.id, until: .distantFuture, now: now)
    return token
  }

  /// Ties a person to a device; tokens of a tie before are dead.
  mutating func tie(
    _ person: String, to device: String, _ settings: FreedomSettings, now: Date
  ) -> FreedomToken {
    tokens.updateAll {
      if $0.use == .device(device), $0.person == person { $0.isEnded = true }
    }
    return issue(.device(device), to: person, settings, now: now)
  }

  /// Who is tied to a device, in the order in which they came.
  func tied(to device: String) -> [FreedomPerson] {
    tokens.values.filter { $0.use == .device(device) && !$0.isEnded }
      .compactMap { person($0.person) }
  }

  /// Nil for what is unknown, dead or over.
  func token(access: String, now: Date) -> FreedomToken? {
    tokens.values.first { $0.access == access && !$0.isEnded && $0.accessExpires > now }
  }

  /// Nil for what is unknown, dead or over.
  func token(refresh: String, now: Date) -> FreedomToken? {
    tokens.values.first { $0.refresh == refresh && !$0.isEnded && $0.refreshExpires > now }
  }

  /// New tokens in the place of these, which are dead then.
  mutating func renew(
    _ token: FreedomToken, _ settings: FreedomSettings, now: Date
  ) -> FreedomToken {
    if settings.newIdOnRefresh {
      end(token.id)
      return issue(token.use, to: token.person, settings, now: now)
    }
    var renewed = token
    renewed.access = mint.alphanumerics(Self.tokenLength)
    renewed.refresh = mint.alphanumerics(Self.tokenLength)
    renewed.accessExpires = now.addingTimeInterval(Double(settings.accessTokenSeconds))
    renewed.refreshExpires = now.addingTimeInterval(Double(settings.refreshTokenSeconds))
    tokens.update(token.id) { $0 = renewed }
    return renewed
  }

  mutating func end(_ id: String) {
    tokens.update(id) { $0.isEnded = true }
  }

  mutating func issueCode(
    _ use: FreedomToken.Use, to person: String, _ settings: FreedomSettings, now: Date
  ) -> String {
    let code = mint.alphanumerics(43)
    codes.insert(
      FreedomCode(person: person, use: use), for: code,
      until: now.addingTimeInterval(Double(settings.codeSeconds)), now: now)
    return code
  }

  /// What a code was issued for; it is spent then. Nil for one that is unknown, spent or over.
  mutating func spend(_ code: String, now: Date) -> FreedomCode? {
    guard let known = codes.value(code, now: now) else { return nil }
    codes.remove(code)
    return known
  }
}
