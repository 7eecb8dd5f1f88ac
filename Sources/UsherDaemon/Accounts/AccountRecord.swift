import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// An account in memory, with its tokens; all of it is on disk.
struct AccountRecord: Sendable {
  let id: AccountID
  let owner: Owner
  let provider: ProviderName
  let subject: String
  var details: AccountDetails
  var consents = AccountConsents()
  var tokens: [TokenKey: HeldToken]
  /// As its row says it: see ``waking(at:for:)``.
  var wakeAt: Timestamp?
  /// As its row says it: see ``calling(for:)``.
  var callTag: Data?

  var shelf: AccountRepository.Shelf { .init(owner: owner, provider: provider) }

  /// The token a caller gets who asks for no scope.
  var mainKey: TokenKey { TokenKey(audience: "", scope: details.grant.scope) }

  /// The access token to hand out; nil also where the provider has refused the grant: the token may
  /// be worth nothing then, though it has not expired.
  func usableToken(_ key: TokenKey) -> HeldToken? {
    details.grant.death == nil ? tokens[key] : nil
  }

  var mainToken: Secret? { tokens[mainKey]?.set.accessToken.unsealed() }
}

/// Which of an account's tokens.
struct TokenKey: Hashable, Sendable {
  var audience: String
  var scope: String
}

extension TokenKey {
  /// The key of tokens with a part of the granted scope, however its words are ordered.
  init(partOfScope scope: String) {
    let words = scope.scopeWords.sorted { $0.lexicographicallyPrecedes($1) }
      .map { String(decoding: $0, as: UTF8.self) }
    self.init(audience: "", scope: words.joined(separator: " "))
  }
}

/// The sealed part of an account's row.
struct AccountDetails: Codable, Sendable, Equatable {
  var label: String
  var attributes: [String: JSONValue]
  var profile: [String: JSONValue]?
  var keepAlive: Bool
  var createdAt: Timestamp
  /// Whether a member of the profile leaves only to a client that was granted it.
  var isByConsent = false
  /// Whether the tokens are the daemon's own.
  var tokensAreInternal = false
  /// The client whose flow brought it; nil for an account of before this was kept.
  var broughtBy: String?
  /// Nil where the account has no one-time codes.
  var authenticator: Authenticator?
  /// Where its tokens are from, and may be sent; nil for an account of before this was kept, whose
  /// provider is not there.
  var place: TokenPlace?
  var grant: Grant

  /// What one-time codes are made of, and which were given where each is given once.
  struct Authenticator: Codable, Sendable, Equatable {
    /// Base32, as the provider gave it.
    var secret: Sealed<Secret>
    /// When the step of the last code is over that a client was given, by the client's name. A moment
    /// and no number: it means the same when the period is set otherwise.
    var givenUntil: [String: Timestamp] = [:]
  }

  /// What the provider granted: good for tokens until it is dead.
  struct Grant: Codable, Sendable, Equatable {
    var scope: String
    var refreshToken: Sealed<Secret>?
    /// When the refresh token expires by the wall clock; nil where the provider did not tell.
    var refreshExpiresAt: Timestamp?
    /// What the provider said when it refused to refresh; nothing but a new log-in helps.
    var death: ProviderErrorCode?
    /// The scope of the last refresh, where it was less than was granted; a new log-in helps.
    var narrowedTo: String?

    /// Whether the provider may be asked for a new access token.
    ///
    /// ``refreshExpiresAt`` does not matter: the clock may have been wrong when the refresh token came.
    /// Past that moment the provider decides.
    var isRenewable: Bool { death == nil && refreshToken != nil }

    /// Whether the refresh token is good by the clock too.
    func isAlive(at now: Timestamp) -> Bool {
      isRenewable && refreshExpiresAt.map { $0 > now } ?? true
    }

    /// Whether a token with that scope gives access to all that was granted.
    ///
    /// `offline_access` is left out: it is about the refresh token (OIDC Core §11), and some providers
    /// do not name it in the reply to a refresh.
    func isCovered(by scope: String) -> Bool {
      self.scope.scopeWords.subtracting("offline_access".scopeWords)
        .isSubset(of: scope.scopeWords)
    }
  }
}

extension AccountDetails {
  /// What later versions added is not in older rows.
  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    label = try members.decode(String.self, forKey: .label)
    attributes = try members.decode([String: JSONValue].self, forKey: .attributes)
    profile = try members.decodeIfPresent([String: JSONValue].self, forKey: .profile)
    keepAlive = try members.decode(Bool.self, forKey: .keepAlive)
    createdAt = try members.decode(Timestamp.self, forKey: .createdAt)
    isByConsent = try members.decodeIfPresent(Bool.self, forKey: .isByConsent) ?? false
    tokensAreInternal = try members.decodeIfPresent(Bool.self, forKey: .tokensAreInternal) ?? false
    broughtBy = try members.decodeIfPresent(String.self, forKey: .broughtBy)
    authenticator = try members.decodeIfPresent(Authenticator.self, forKey: .authenticator)
    place = try members.decodeIfPresent(TokenPlace.self, forKey: .place)
    grant = try members.decode(Grant.self, forKey: .grant)
  }
}

/// An access token in memory, with the reply of `token.get` ready to send.
struct HeldToken: Sendable {
  let set: TokenSet
  let issuedAt: Timestamp
  /// When that was on a clock that nobody sets; nil for a token of before this was kept.
  let issuedAtBootTime: BootTime?
  /// The encoded result; made when the token changes, not when it is asked for.
  let reply: [UInt8]

  init(_ stored: StoredToken, account: AccountID) throws(UsherError) {
    set = stored.set
    issuedAt = stored.issuedAt
    issuedAtBootTime = stored.issuedAtBootTime
    reply = try ReplyEncoder.encode(
      TokenGet.Reply(
        accessToken: WireSecret(set.accessToken.unsealed()), tokenType: set.tokenType,
        expiresAt: set.expiresAt, scope: set.scope, account: account))
  }

  /// Whether it is good for that long; one without an expiry is from its issue on.
  func isValid(for seconds: Int, at now: Timestamp, _ bootTime: BootTime? = nil) -> Bool {
    validUntil(for: seconds, at: now, bootTime) != nil
  }

  /// Up to when it may be handed out to who wants it good for that long; nil where it may not.
  ///
  /// The wall clock may have been wrong when it was issued: a token from the future is not good, and
  /// within one start of the machine the clock that nobody sets counts too.
  func validUntil(
    for seconds: Int, at now: Timestamp, _ bootTime: BootTime?
  ) -> Timestamp? {
    guard issuedAt <= now else { return nil }
    var end = lastMoment(for: seconds)
    if set.expiresAt != nil, let issuedAtBootTime,
      let elapsed = bootTime?.elapsed(since: issuedAtBootTime)
    {
      guard elapsed >= .zero else { return nil }
      end = min(end, now + (end - issuedAt - elapsed))
    }
    return now <= end ? end : nil
  }

  /// The last moment at which it is good for that long.
  ///
  /// Two exceptions keep a provider from being asked at every call. No refresh brings what a token never
  /// had: where its whole life is not longer than what is asked for, half of its life is enough. A
  /// token that has just been fetched is handed out: for a tenth of its life, at most 10 seconds.
  func lastMoment(for seconds: Int) -> Timestamp {
    guard let expiresAt = set.expiresAt else { return .latest }
    let processContext = expiresAt - issuedAt
    guard processContext > .seconds(seconds) else {
      return expiresAt - .milliseconds(processContext.milliseconds / 2)
    }
    return max(expiresAt - .seconds(seconds), issuedAt + min(processContext / 10, .seconds(10)))
  }

  func isAlive(at now: Timestamp) -> Bool { set.expiresAt.map { $0 > now } ?? true }
}

/// The sealed part of a token's row.
struct StoredToken: Codable, Sendable {
  var set: TokenSet
  var issuedAt: Timestamp
  var issuedAtBootTime: BootTime?
}

extension AccountRecord {
  /// As a client of its owner sees it.
  ///
  /// - Parameter fields: The members of the profile that the client's rule lets it see; nil: all. Where
  ///   it says, the subject stands for the label, which is made of the profile.
  func account(for caller: String, fields: [String]? = nil, at now: Timestamp) -> Account {
    Account(
      id: id, provider: provider, subject: subject, label: fields == nil ? details.label : subject,
      owner: owner.client == nil ? owner.uid : nil,
      client: owner.client, createdAt: details.createdAt, keepAlive: details.keepAlive,
      attributes: details.attributes, profile: profile(for: caller, fields: fields, at: now),
      tokens: summaries(at: now))
  }

  /// Nothing where the tokens are the daemon's own.
  func summaries(at now: Timestamp) -> [TokenSummary] {
    if details.tokensAreInternal { return [] }
    let held = tokens.sorted { ($0.key.audience, $0.key.scope) < ($1.key.audience, $1.key.scope) }
    return held.map { key, token in
      TokenSummary(
        audience: key.audience.isEmpty ? nil : key.audience, scope: token.set.scope,
        expiresAt: token.set.expiresAt, status: status(of: token, at: now))
    }
  }

  private func status(of token: HeldToken, at now: Timestamp) -> TokenSummary.Status {
    if details.grant.death != nil { return .dead }
    if token.isAlive(at: now), token.issuedAt <= now { return .valid }
    return details.grant.isRenewable ? .refreshable : .dead
  }
}

// Rows.
extension AccountRecord {
  init(
    _ row: AccountRow, tokens rows: [TokenRow], consents: [ConsentRow] = []
  ) throws(UsherError) {
    id = row.id
    owner = row.owner
    provider = row.provider
    subject = row.subject
    wakeAt = row.wakeAt
    callTag = row.callTag
    details = try row.payload.decoded(as: AccountDetails.self)
    self.consents = try AccountConsents(consents)
    tokens = [:]
    for token in rows {
      let stored = try token.payload.decoded(as: StoredToken.self)
      tokens[TokenKey(audience: token.audience, scope: token.scope)] = try HeldToken(
        stored, account: row.id)
    }
  }

  init(_ stored: StoredAccount) throws(UsherError) {
    try self.init(stored.account, tokens: stored.tokens, consents: stored.consents)
  }

  func row() throws(UsherError) -> AccountRow {
    AccountRow(
      id: id, owner: owner, provider: provider, subject: subject, wakeAt: wakeAt,
      callTag: callTag, payload: try SealedPayload(encoding: details))
  }

  func row(_ key: TokenKey, _ token: HeldToken) throws(UsherError) -> TokenRow {
    TokenRow(
      account: id, audience: key.audience, scope: key.scope, expiresAt: token.set.expiresAt,
      status: "held",
      payload: try SealedPayload(
        encoding: StoredToken(
          set: token.set, issuedAt: token.issuedAt, issuedAtBootTime: token.issuedAtBootTime)))
  }
}
