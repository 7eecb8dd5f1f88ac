import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// An account in memory, with its tokens and consents. All of its content is also on disk.
struct AccountRecord: Sendable {
  let id: AccountID
  let owner: Owner
  let provider: ProviderName
  let subject: String
  var details: AccountDetails
  var consents = AccountConsents()
  var tokens: [TokenKey: HeldToken]
  /// The stored result of ``wakeTime(at:for:)``: when the account needs background work.
  var wakeAt: Timestamp?
  /// The stored keyed hash of the account's ``AccountFollowUp/callKey``, by which a provider's
  /// callback finds the account; nil if no callback concerns the account.
  var callTag: Data?

  var lockKey: AccountRepository.OwnerAtProvider { .init(owner: owner, provider: provider) }

  /// The key of the token that `token.get` returns if the call names no scope.
  var mainKey: TokenKey { TokenKey(audience: "", scope: details.grant.scope) }

  /// Returns the access token to hand out. Nil if there is none, or if the provider has refused a
  /// refresh of the grant: the token may then be invalid although it has not expired.
  func usableToken(_ key: TokenKey) -> HeldToken? {
    details.grant.death == nil ? tokens[key] : nil
  }

  /// The source of the account's ID tokens; nil if the provider issues none.
  var issuer: String? { details.place?.issuer }

  /// The ID token, expired or not, if its signature has been verified.
  var verifiedIDToken: Sealed<Secret>? {
    tokens[.idToken].flatMap { $0.isUnverified ? nil : $0.set.accessToken }
  }

  var mainToken: Secret? { tokens[mainKey]?.set.accessToken.unsealed() }
}

/// Identifies one of an account's tokens.
struct TokenKey: Hashable, Sendable {
  var audience: String
  var scope: String
}

extension TokenKey {
  /// The key of the ID token. In place of an audience it has the name of the token type (RFC 8693
  /// §3), which is no audience of an access token.
  static let idToken = TokenKey(audience: "urn:ietf:params:oauth:token-type:id_token", scope: "")

  /// Creates the key for a token with a part of the granted scope, whatever the order of its words.
  init(partOfScope scope: String, audience: String = "") {
    let words = scope.scopeWords.sorted { $0.lexicographicallyPrecedes($1) }
      .map { String(decoding: $0, as: UTF8.self) }
    self.init(audience: audience, scope: words.joined(separator: " "))
  }
}

/// The encrypted payload of an account's row.
struct AccountDetails: Codable, Sendable, Equatable {
  var label: String
  var attributes: [String: JSONValue]
  var profile: [String: JSONValue]?
  var keepAlive: Bool
  var createdAt: Timestamp
  /// Whether a client sees only the profile members for which it has the user's consent.
  var isByConsent = false
  /// Whether the daemon alone uses the tokens, so that no client receives them.
  var tokensAreInternal = false
  /// The client whose flow created the account; nil in rows that older versions wrote.
  var broughtBy: String?
  /// The source of the account's one-time codes; nil if it has none.
  var authenticator: Authenticator?
  /// The source of the tokens, and the only place to which they may be sent; nil in rows that older
  /// versions wrote and whose provider is not configured.
  var place: TokenPlace?
  /// The claims of the last sign-in's ID token; nil without one, and in rows that older versions
  /// wrote.
  var signIn: SignInClaims?
  /// What the last sign-in requested; nil if it need not be repeated, and in rows that older
  /// versions wrote.
  var signInOptions: SignInOptions?
  var grant: Grant

  /// The TOTP secret (RFC 6238) of an account, and a record of the codes that clients received.
  struct Authenticator: Codable, Sendable, Equatable {
    /// The secret in Base32, as the provider gave it.
    var secret: Sealed<Secret>
    /// For each client name, the end of the time step of the last code that the client received. It
    /// is a time, not a step number, because a time stays correct if the provider changes the
    /// period.
    var givenUntil: [String: Timestamp] = [:]
  }

  /// The provider's grant, which yields new access tokens until the provider refuses it.
  struct Grant: Codable, Sendable, Equatable {
    var scope: String
    /// The refresh token; for a grant of the client a random text that identifies the grant and is
    /// sent to nobody; nil if the grant cannot be renewed.
    var refreshToken: Sealed<Secret>?
    /// The expiry of the refresh token by the wall clock; nil if the provider stated none.
    var refreshExpiresAt: Timestamp?
    /// The error with which the provider finally refused a refresh, so that only a new sign-in
    /// helps; nil if it has not done so.
    var death: ProviderErrorCode?
    /// The scope of the last refresh if it was less than granted, so that only a new sign-in
    /// restores the rest; nil otherwise.
    var narrowedTo: String?
    /// Whether the last refresh returned no ID token that can be handed out; nil in rows that older
    /// versions wrote.
    var lacksNewIDToken: Bool?
    /// Whether the tokens are granted to the client without a user (RFC 6749 §4.4, RFC 7523 §2.1),
    /// so that no refresh token is needed; nil means false.
    var isOfClient: Bool?
    /// Whether they are granted for an assertion about the account's subject (RFC 7523 §2.1); nil
    /// means false.
    var isByAssertion: Bool?
    /// The account of another provider by whose assertions they are granted; nil if there is none.
    var identity: AccountID?
    /// The name that the provider has given to the grant; nil if it has given none.
    var grantID: Sealed<Secret>?
    /// The key to which the provider binds the tokens (RFC 9449); nil if it binds them to none, and
    /// in rows that older versions wrote.
    var dpopKey: Sealed<Secret>?

    /// Whether the provider may be asked for a new access token.
    ///
    /// ``refreshExpiresAt`` is ignored: the clock may have been wrong when the refresh token
    /// arrived. After that time the provider decides.
    var isRenewable: Bool { death == nil && refreshToken != nil }

    /// Whether the grant is renewable and its refresh token has not expired by the wall clock.
    func isAlive(at now: Timestamp) -> Bool {
      isRenewable && refreshExpiresAt.map { $0 > now } ?? true
    }

    /// Whether a token with the given scope gives access to everything that was granted.
    ///
    /// `offline_access` is ignored: it concerns the refresh token (OIDC Core §11), and some
    /// providers omit it from the reply to a refresh.
    func isCovered(by scope: String) -> Bool {
      self.scope.scopeWords.subtracting("offline_access".scopeWords)
        .isSubset(of: scope.scopeWords)
    }
  }
}

extension AccountDetails {
  /// Decodes the payload of a row. Members that were added by later versions may be missing.
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
    signIn = try members.decodeIfPresent(SignInClaims.self, forKey: .signIn)
    signInOptions = try members.decodeIfPresent(SignInOptions.self, forKey: .signInOptions)
    grant = try members.decode(Grant.self, forKey: .grant)
  }
}

/// An access token or ID token in memory, with the encoded reply of `token.get`.
struct HeldToken: Sendable {
  /// The access token, or the ID token in its place.
  let set: TokenSet
  let issuedAt: Timestamp
  /// The issue time by the boot-time clock, which a change of the wall clock does not affect; nil
  /// for tokens stored before this field existed.
  let issuedAtBootTime: BootTime?
  /// The encoded result of `token.get`, made when the token changes and not on each call.
  let reply: [UInt8]
  /// Whether the signature of an ID token must be verified before it is handed out.
  private(set) var isUnverified: Bool

  /// - Parameter issuer: The issuer that the reply names.
  init(
    _ stored: StoredToken, as key: TokenKey, account: AccountID, issuer: String?
  ) throws(UsherError) {
    set = stored.set
    issuedAt = stored.issuedAt
    issuedAtBootTime = stored.issuedAtBootTime
    isUnverified = stored.isUnverified ?? false
    let token = WireSecret(set.accessToken.unsealed())
    let isIDToken = key == .idToken
    reply = try ReplyEncoder.encode(
      TokenGet.Reply(
        accessToken: isIDToken ? nil : token, idToken: isIDToken ? token : nil,
        tokenType: set.tokenType, expiresAt: set.expiresAt, scope: set.scope, account: account,
        issuer: issuer))
  }

  /// The same ID token after its signature was verified.
  var verified: HeldToken {
    var token = self
    token.isUnverified = false
    return token
  }

  func isValid(for seconds: Int, at now: Timestamp, _ bootTime: BootTime? = nil) -> Bool {
    validUntil(for: seconds, at: now, bootTime) != nil
  }

  /// Returns the last time at which the token may be handed out to a caller that needs a token
  /// valid for `seconds`; nil if the token may not be handed out now.
  ///
  /// The wall clock may have been wrong when the token was issued: a token with a future issue time
  /// counts as invalid, and within one boot the boot-time clock limits the token too.
  func validUntil(for seconds: Int, at now: Timestamp, _ bootTime: BootTime?) -> Timestamp? {
    guard issuedAt <= now else { return nil }
    var end = lastValidTime(for: seconds)
    if set.expiresAt != nil, let issuedAtBootTime,
      let elapsed = bootTime?.elapsed(since: issuedAtBootTime)
    {
      guard elapsed >= .zero else { return nil }
      end = min(end, now + (end - issuedAt - elapsed))
    }
    return now <= end ? end : nil
  }

  /// Returns the last time at which the token counts as valid for `seconds`.
  ///
  /// Two exceptions avoid a refresh on every call. If the token's whole lifetime is not longer than
  /// `seconds`, half of the lifetime is enough. A new token is always handed out for a tenth of its
  /// lifetime, at most 10 seconds.
  func lastValidTime(for seconds: Int) -> Timestamp {
    guard let expiresAt = set.expiresAt else { return .latest }
    let lifetime = expiresAt - issuedAt
    guard lifetime > .seconds(seconds) else {
      return expiresAt - .milliseconds(lifetime.milliseconds / 2)
    }
    return max(expiresAt - .seconds(seconds), issuedAt + min(lifetime / 10, .seconds(10)))
  }

  func isAlive(at now: Timestamp) -> Bool { set.expiresAt.map { $0 > now } ?? true }
}

/// The encrypted payload of a token's row.
struct StoredToken: Codable, Sendable {
  var set: TokenSet
  var issuedAt: Timestamp
  var issuedAtBootTime: BootTime?
  /// Whether this is an ID token whose signature has not been verified; nil means false.
  var isUnverified: Bool?
}

extension StoredToken {
  init(_ idToken: IDToken, isUnverified: Bool, at now: Timestamp, _ bootTime: BootTime?) {
    set = TokenSet(
      accessToken: idToken.token, tokenType: "N_A", expiresAt: idToken.expiresAt, scope: "")
    issuedAt = now
    issuedAtBootTime = bootTime
    self.isUnverified = isUnverified ? true : nil
  }
}

extension AccountRecord {
  /// Returns the account as a client of its owner sees it.
  ///
  /// - Parameter fields: The profile members that the client's policy rule permits; nil: all. With
  ///   a list, the subject replaces the label, because the label is derived from the profile.
  func account(for caller: String, fields: [String]? = nil, at now: Timestamp) -> Account {
    Account(
      id: id, provider: provider, subject: subject, label: fields == nil ? details.label : subject,
      owner: owner.client == nil ? owner.uid : nil,
      client: owner.client, createdAt: details.createdAt, keepAlive: details.keepAlive,
      attributes: details.attributes, profile: profile(for: caller, fields: fields, at: now),
      authentication: details.signIn?.authentication, tokens: summaries(at: now))
  }

  /// Returns the tokens' metadata; empty if only the daemon uses the tokens.
  func summaries(at now: Timestamp) -> [TokenSummary] {
    if details.tokensAreInternal { return [] }
    let sorted = tokens.sorted { ($0.key.audience, $0.key.scope) < ($1.key.audience, $1.key.scope) }
    return sorted.map { key, token in
      let isIDToken = key == .idToken
      return TokenSummary(
        field: isIDToken ? .idToken : nil,
        audience: key.audience.isEmpty || isIDToken ? nil : key.audience, scope: token.set.scope,
        expiresAt: token.set.expiresAt, status: status(of: token, at: now))
    }
  }

  private func status(of token: HeldToken, at now: Timestamp) -> TokenSummary.Status {
    if details.grant.death != nil { return .dead }
    if token.isAlive(at: now), token.issuedAt <= now { return .valid }
    return details.grant.isRenewable ? .refreshable : .dead
  }
}

// Conversion between account records and database rows.
extension AccountRecord {
  init(_ row: AccountRow, tokens rows: [TokenRow], consents: [ConsentRow] = []) throws(UsherError) {
    id = row.id
    owner = row.owner
    provider = row.provider
    subject = row.subject.withoutOrigin
    wakeAt = row.wakeAt
    callTag = row.callTag
    details = try row.payload.decoded(as: AccountDetails.self)
    self.consents = try AccountConsents(consents)
    tokens = [:]
    for token in rows {
      let stored = try token.payload.decoded(as: StoredToken.self)
      let key = TokenKey(audience: token.audience, scope: token.scope)
      tokens[key] = try HeldToken(stored, as: key, account: row.id, issuer: issuer)
    }
  }

  init(_ stored: StoredAccount) throws(UsherError) {
    try self.init(stored.account, tokens: stored.tokens, consents: stored.consents)
  }

  func row() throws(UsherError) -> AccountRow {
    AccountRow(
      id: id, owner: owner, provider: provider,
      subject: details.grant.origin.stored(subject), wakeAt: wakeAt,
      callTag: callTag, payload: try SealedPayload(encoding: details))
  }

  func row(_ key: TokenKey, _ token: HeldToken) throws(UsherError) -> TokenRow {
    TokenRow(
      account: id, audience: key.audience, scope: key.scope, expiresAt: token.set.expiresAt,
      status: "held",
      payload: try SealedPayload(
        encoding: StoredToken(
          set: token.set, issuedAt: token.issuedAt, issuedAtBootTime: token.issuedAtBootTime,
          isUnverified: token.isUnverified ? true : nil)))
  }
}

/// The origin of an account's subject. Accounts of one owner at one provider whose subjects
/// are equal, but of another origin, are different accounts.
enum SubjectOrigin: String, CaseIterable {
  /// A sign-in of a person.
  case person = ""
  /// The client id of the daemon. The text is the beginning of the stored subject: it has a control
  /// character, which the subject of a person may not have.
  case client = "\u{1}client "
  /// An assertion that the daemon signs or reads from a file (RFC 7523 §2.1).
  case assertion = "\u{1}assertion "
  /// An account of another provider, whose assertions the daemon presents.
  case identity = "\u{1}identity "

  init(isOfClient: Bool, isByAssertion: Bool, hasIdentity: Bool) {
    self = !isOfClient ? .person : isByAssertion ? .assertion : hasIdentity ? .identity : .client
  }

  /// Returns the stored form of a subject, by which a sign-in finds its account.
  func stored(_ subject: String) -> String { rawValue + subject }
}

extension AccountDetails.Grant {
  fileprivate var origin: SubjectOrigin {
    SubjectOrigin(
      isOfClient: isOfClient == true, isByAssertion: isByAssertion == true,
      hasIdentity: identity != nil)
  }
}

extension String {
  /// The subject of which this is the stored form.
  fileprivate var withoutOrigin: String {
    let marks = SubjectOrigin.allCases.map(\.rawValue).filter { !$0.isEmpty }
    return marks.first(where: hasPrefix).map { String(dropFirst($0.count)) } ?? self
  }
}

extension SignInClaims {
  /// The claims as clients see them; nil if the provider told nothing about the authentication.
  var authentication: Account.Authentication? {
    let authentication = Account.Authentication(
      acr: authenticationClass, amr: authenticationMethods, authTime: authenticatedAt)
    return authentication == Account.Authentication() ? nil : authentication
  }
}
