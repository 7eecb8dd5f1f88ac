import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Tokens that usherd deletes and that must be revoked at their provider.
///
/// Stored as a sealed note, in the commit that deletes the tokens, until the provider has answered
/// or the deadline is over. A crash of the daemon therefore does not leave the tokens valid.
struct Revocation: Codable, Sendable, Equatable {
  /// How long the revocation is retried at an unreachable provider.
  static let retryPeriod = Duration.seconds(86_400)

  /// The prefix of the names of the notes that contain revocations.
  static let notePrefix = "revocation "

  struct Token: Codable, Sendable, Equatable {
    let kind: TokenKind
    let secret: Sealed<Secret>
    let scope: String
    let expiresAt: Timestamp?

    /// Whether the token may still be valid. A refresh token counts as valid past its expiry,
    /// because the clock may have been wrong when the token arrived.
    func isAlive(at now: Timestamp) -> Bool { lifetime(at: now) > .zero }

    /// Returns how long the token is still valid, at most ``Revocation/retryPeriod``.
    fileprivate func lifetime(at now: Timestamp) -> Duration {
      guard kind == .accessToken, let expiresAt else { return Revocation.retryPeriod }
      return min(expiresAt - now, Revocation.retryPeriod)
    }

    func living(_ why: LivingToken.Reason) -> LivingToken {
      LivingToken(token: .init(kind), scope: scope, expiresAt: expiresAt, why: why)
    }
  }

  /// The caller that requested the revocation. The audit log names it in the row for the outcome.
  struct Asker: Codable, Sendable, Equatable {
    let client: String
    let uid: UInt32
    let gid: UInt32

    var audited: AuditedCaller { AuditedCaller(client: client, uid: uid, gid: gid, pid: 0) }
  }

  let id: String
  /// The account; nil for tokens that a flow obtained and that were not stored in an account.
  let account: AccountID?
  let provider: ProviderName
  /// The tokens to revoke: the refresh token first, the access token with the full scope last; then
  /// the grant, if it is deleted.
  var tokens: [Token]
  let asker: Asker
  private let realm: String
  private let uid: UInt32
  private let client: String?
  private let subject: String
  private let attributes: [String: JSONValue]
  private let place: TokenPlace?
  private let scope: String
  /// Whether the tokens are bound to a key (RFC 9449), so that none of them is a Bearer token; nil
  /// means false.
  let isBound: Bool?
  private var startedAt: Timestamp
  private var startedAtBootTime: BootTime?

  /// Creates the revocation of an account's tokens.
  ///
  /// - Parameters:
  ///   - tokens: Tokens of one of the account's grants; nil: all of the account's tokens.
  ///   - deletesGrant: Whether the grant is deleted, too, if the provider has given it a name.
  init(
    of record: AccountRecord, _ tokens: [Token]? = nil, deletesGrant: Bool = false,
    by asker: Asker, _ dependencies: Dependencies
  ) {
    let now = dependencies.clock.now()
    id = dependencies.identifier("rev_")
    account = record.id
    provider = record.provider
    self.tokens = tokens ?? record.revocable(at: now)
    if deletesGrant, let grantID = record.details.grant.grantID {
      self.tokens.append(
        Token(
          kind: .grant, secret: grantID, scope: record.details.grant.scope, expiresAt: nil))
    }
    self.asker = asker
    realm = record.owner.realm
    uid = record.owner.uid
    client = record.owner.client
    subject = record.subject
    attributes = record.details.attributes.filter {
      ProviderRegistry.tokenAttributes.contains($0.key)
    }
    place = record.details.place
    scope = record.details.grant.scope
    isBound = record.details.grant.dpopKey == nil ? nil : true
    startedAt = now
    startedAtBootTime = dependencies.clock.bootTime()
  }

  /// Creates the revocation of a token that a flow obtained and that is not stored in an account.
  init(
    of token: RevokedToken, obtainedBy flow: LiveFlow, by provider: ProviderConfig,
    _ dependencies: Dependencies
  ) {
    id = dependencies.identifier("rev_")
    account = nil
    self.provider = provider.name
    tokens = [Token(kind: token.kind, secret: Sealed(token.secret), scope: "", expiresAt: nil)]
    asker = Asker(client: flow.client ?? CallerPolicy.ownPrograms, uid: flow.uid, gid: flow.uid)
    realm = flow.owner.realm
    uid = flow.owner.uid
    client = flow.owner.client
    subject = ""
    attributes = [:]
    scope = ""
    isBound = provider.settings.view(as: OIDCSettings.self)?.dpop == true ? true : nil
    place = provider.tokenPlace
    startedAt = dependencies.clock.now()
    startedAtBootTime = dependencies.clock.bootTime()
  }

  var owner: Owner { Owner(realm: realm, uid: uid, client: client) }

  var noteName: String { Self.notePrefix + id }

  func row() throws(UsherError) -> NoteRow {
    NoteRow(name: noteName, payload: try SealedPayload(encoding: self))
  }

  /// An account record with only the members that revoking the tokens needs.
  var record: AccountRecord {
    let details = AccountDetails(
      label: "", attributes: attributes, keepAlive: false, createdAt: startedAt, place: place,
      grant: .init(scope: scope, refreshToken: refreshToken?.secret))
    return AccountRecord(
      id: account ?? AccountID(id), owner: owner, provider: provider, subject: subject,
      details: details, tokens: [:])
  }

  var refreshToken: Token? { tokens.first { $0.kind == .refreshToken } }

  /// Returns the part of ``retryPeriod`` that is left. A restart of the daemon does not extend it.
  ///
  /// Within one boot the boot-time clock counts, after a reboot the wall clock.
  func timeLeft(at now: Timestamp, _ bootTime: BootTime?) -> Duration {
    let elapsed = startedAtBootTime.flatMap { bootTime?.elapsed(since: $0) } ?? now - startedAt
    return Self.retryPeriod - max(elapsed, .zero)
  }

  /// Returns how long the longest-lived of the tokens is still valid, at most ``retryPeriod``.
  func lifetime(at now: Timestamp) -> Duration {
    tokens.map { $0.lifetime(at: now) }.max() ?? .zero
  }

  /// Starts the period of ``retryPeriod`` again if the clock was set back to before its start,
  /// because the elapsed time is then unknown.
  ///
  /// - Returns: Whether the period was started again.
  mutating func restartIfClockWentBack(at now: Timestamp, _ bootTime: BootTime?) -> Bool {
    let elapsed = startedAtBootTime.flatMap { bootTime?.elapsed(since: $0) } ?? now - startedAt
    guard elapsed < .zero else { return false }
    startedAt = now
    startedAtBootTime = bootTime
    return true
  }
}

extension AccountRecord {
  /// Returns the account's tokens that can be revoked at the provider and have not expired.
  func revocable(at now: Timestamp) -> [Revocation.Token] {
    let grant = details.grant
    let refreshToken = grant.isOfClient == true ? nil : grant.refreshToken
    var revocable = [refreshToken].compactMap(\.self).map {
      Revocation.Token(
        kind: .refreshToken, secret: $0, scope: grant.scope, expiresAt: grant.refreshExpiresAt)
    }
    // An ID token is not revoked: it only says who the user is, until it expires.
    let parts = tokens.filter { $0.key != mainKey && $0.key != .idToken }.sorted {
      $0.key.scope < $1.key.scope
    }
    for token in parts.map(\.value) + [tokens[mainKey]].compactMap(\.self) {
      revocable.append(token.set.revocableAccess)
    }
    return revocable.filter { $0.isAlive(at: now) }
  }
}

extension LivingToken.Kind {
  fileprivate init(_ kind: TokenKind) {
    self =
      switch kind {
      case .refreshToken: .refreshToken
      case .accessToken: .accessToken
      case .grant: .grant
      }
  }
}

extension TokenSet {
  /// The tokens in the form in which they are revoked, the refresh token first.
  var revocable: [Revocation.Token] {
    let refresh = refreshToken.map {
      Revocation.Token(kind: .refreshToken, secret: $0, scope: scope, expiresAt: refreshExpiresAt)
    }
    return [refresh, revocableAccess].compactMap(\.self)
  }

  var revocableAccess: Revocation.Token {
    .init(kind: .accessToken, secret: accessToken, scope: scope, expiresAt: expiresAt)
  }
}

extension Revocation.Asker {
  /// Creates an asker from the account's owner, for a revocation that no RPC call has requested.
  init(ownerOf record: AccountRecord) {
    self.init(
      client: record.owner.client ?? CallerPolicy.ownPrograms, uid: record.owner.uid,
      gid: record.owner.uid)
  }
}

/// The result of one attempt to revoke tokens.
struct RevocationAttempt: Sendable {
  enum Verdict: Sendable, Equatable {
    case revoked
    case living(LivingToken.Reason)
  }

  /// The verdict for each token, in the order of the attempts.
  var verdicts: [(token: Revocation.Token, verdict: Verdict)] = []
  /// The delay before the next attempt that the provider asks for; nil if it asks for none.
  var retryAfter: Duration?

  /// The outcome for the refresh token, or for the access tokens if there is no refresh token.
  var outcome: RevocationReply.Outcome {
    let decisive = verdicts.filter { $0.token.kind == .refreshToken }
    let all = (decisive.isEmpty ? verdicts : decisive).map(\.verdict)
    if all.allSatisfy({ $0 == .living(.unsupported) || $0 == .living(.notAsked) }) {
      return .skipped
    }
    return all.allSatisfy { $0 == .revoked } ? .done : .failed
  }

  var living: [LivingToken] {
    verdicts.compactMap { token, verdict in
      if case .living(let why) = verdict { token.living(why) } else { nil }
    }
  }

  /// The tokens about which the provider must be asked again.
  var unanswered: [Revocation.Token] { tokens(living: .unreachable) }

  /// The tokens whose provider is not configured, or whose provider's name means another one.
  var notConfigured: [Revocation.Token] { tokens(living: .notConfigured) }

  private func tokens(living why: LivingToken.Reason) -> [Revocation.Token] {
    verdicts.filter { $0.verdict == .living(why) }.map(\.token)
  }

  /// Creates the result if no token could be revoked.
  ///
  /// - Parameter why: The reason for all of the tokens.
  init(_ tokens: [Revocation.Token], living why: LivingToken.Reason) {
    verdicts = tokens.map { ($0, .living(why)) }
  }

  init() {}
}

/// The result of a revocation, as it is reported to the caller.
struct RevocationResult: Sendable {
  var revoked: RevocationReply.Outcome
  var living: [LivingToken]
  /// The time until which the revocation is retried in the background; nil if it is not.
  var retriedUntil: Timestamp?

  func reply(about account: AccountID) -> RevocationReply {
    RevocationReply(
      account: account, revoked: revoked, living: living.isEmpty ? nil : living,
      retriedUntil: retriedUntil)
  }
}
