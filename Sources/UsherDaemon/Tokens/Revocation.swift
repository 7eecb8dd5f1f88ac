import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Tokens that are wiped here and are to be revoked at their provider.
///
/// It is stored as a sealed note in the commit that wipes them, so that no stop of the daemon leaves
/// them alive, until the provider has answered or the deadline is over.
struct Revocation: Codable, Sendable, Equatable {
  /// How long a provider that cannot be reached is asked again.
  static let patience = Duration.seconds(86_400)

  /// What the names of the notes begin with.
  static let notePrefix = "revocation "

  struct Token: Codable, Sendable, Equatable {
    let kind: LivingToken.Kind
    let secret: Sealed<Secret>
    let scope: String
    let expiresAt: Timestamp?

    /// A refresh token may live past its expiry: the clock may have been wrong when it came.
    func isAlive(at now: Timestamp) -> Bool { processContext(at: now) > .zero }

    /// Returns how long the token still lives, at most ``Revocation/patience``.
    fileprivate func processContext(at now: Timestamp) -> Duration {
      guard kind == .accessToken, let expiresAt else { return Revocation.patience }
      return min(expiresAt - now, Revocation.patience)
    }

    func living(_ why: LivingToken.Reason) -> LivingToken {
      LivingToken(token: kind, scope: scope, expiresAt: expiresAt, why: why)
    }
  }

  /// For whom the audit records the end.
  struct Asker: Codable, Sendable, Equatable {
    let client: String
    let uid: UInt32
    let gid: UInt32

    var audited: AuditedCaller { AuditedCaller(client: client, uid: uid, gid: gid, pid: 0) }
  }

  let id: String
  /// Nil for tokens of a flow that became no account's.
  let account: AccountID?
  let provider: ProviderName
  /// The refresh token first; last the access token with the whole scope.
  var tokens: [Token]
  let asker: Asker
  private let realm: String
  private let uid: UInt32
  private let client: String?
  private let subject: String
  private let attributes: [String: JSONValue]
  private let place: TokenPlace?
  private let scope: String
  private var startedAt: Timestamp
  private var startedAtBootTime: BootTime?

  /// - Parameter tokens: Those of a grant of the account; nil: all that the account has.
  init(
    of record: AccountRecord, _ tokens: [Token]? = nil, by asker: Asker,
    _ dependencies: Dependencies
  ) {
    let now = dependencies.clock.now()
    id = dependencies.identifier("rev_")
    account = record.id
    provider = record.provider
    self.tokens = tokens ?? record.revocable(at: now)
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
    startedAt = now
    startedAtBootTime = dependencies.clock.bootTime()
  }

  /// Creates the revocation of a token that a flow brought and that becomes no account's.
  init(
    of token: RevokedToken, brought session: FlowSession, by provider: ProviderConfig,
    _ dependencies: Dependencies
  ) {
    id = dependencies.identifier("rev_")
    account = nil
    self.provider = provider.name
    tokens = [
      Token(
        kind: LivingToken.Kind(token.kind), secret: Sealed(token.secret), scope: "", expiresAt: nil)
    ]
    asker = Asker(
      client: session.client ?? CallerPolicy.ownPrograms, uid: session.uid, gid: session.uid)
    realm = session.owner.realm
    uid = session.owner.uid
    client = session.owner.client
    subject = ""
    attributes = [:]
    scope = ""
    place = provider.tokenPlace
    startedAt = dependencies.clock.now()
    startedAtBootTime = dependencies.clock.bootTime()
  }

  var owner: Owner { Owner(realm: realm, uid: uid, client: client) }

  var noteName: String { Self.notePrefix + id }

  func row() throws(UsherError) -> NoteRow {
    NoteRow(name: noteName, payload: try SealedPayload(encoding: self))
  }

  /// The account as far as its tokens are concerned.
  var record: AccountRecord {
    let details = AccountDetails(
      label: "", attributes: attributes, keepAlive: false, createdAt: startedAt, place: place,
      grant: .init(scope: scope, refreshToken: refreshToken?.secret))
    return AccountRecord(
      id: account ?? AccountID(id), owner: owner, provider: provider, subject: subject,
      details: details, tokens: [:])
  }

  var refreshToken: Token? { tokens.first { $0.kind == .refreshToken } }

  /// Returns the rest of ``patience``. A restart of the daemon does not begin it anew.
  ///
  /// Within one start of the machine the clock counts that nobody sets, after another one the wall clock.
  func timeLeft(at now: Timestamp, _ bootTime: BootTime?) -> Duration {
    let elapsed = startedAtBootTime.flatMap { bootTime?.elapsed(since: $0) } ?? now - startedAt
    return Self.patience - max(elapsed, .zero)
  }

  /// How long the longest of its tokens lives; not more than ``patience``.
  func processContext(at now: Timestamp) -> Duration {
    tokens.map { $0.processContext(at: now) }.max() ?? .zero
  }

  /// Begins its time anew where the clock was set back to before its start, how far nobody knows.
  ///
  /// - Returns: Whether that is so.
  mutating func distrustFuture(at now: Timestamp, _ bootTime: BootTime?) -> Bool {
    let elapsed = startedAtBootTime.flatMap { bootTime?.elapsed(since: $0) } ?? now - startedAt
    guard elapsed < .zero else { return false }
    startedAt = now
    startedAtBootTime = bootTime
    return true
  }
}

extension AccountRecord {
  /// The tokens that can be revoked and have not expired.
  func revocable(at now: Timestamp) -> [Revocation.Token] {
    let grant = details.grant
    var revocable = [grant.refreshToken].compactMap(\.self).map {
      Revocation.Token(
        kind: .refreshToken, secret: $0, scope: grant.scope, expiresAt: grant.refreshExpiresAt)
    }
    let parts = tokens.filter { $0.key != mainKey }.sorted { $0.key.scope < $1.key.scope }
    for token in parts.map(\.value) + [tokens[mainKey]].compactMap(\.self) {
      revocable.append(
        .init(
          kind: .accessToken, secret: token.set.accessToken, scope: token.set.scope,
          expiresAt: token.set.expiresAt))
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
      }
  }
}

extension TokenSet {
  /// The tokens as those of a revocation, the refresh token first.
  var revocable: [Revocation.Token] {
    let refresh = refreshToken.map {
      Revocation.Token(
        kind: .refreshToken, secret: $0, scope: scope, expiresAt: refreshExpiresAt)
    }
    let access = Revocation.Token(
      kind: .accessToken, secret: accessToken, scope: scope, expiresAt: expiresAt)
    return [refresh, access].compactMap(\.self)
  }
}

extension Revocation.Asker {
  /// The owner of an account, for a revocation that no caller has asked for.
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

  /// Each token with what became of it, in the order of the revocation.
  var verdicts: [(token: Revocation.Token, verdict: Verdict)] = []
  /// How long the provider asks to wait.
  var retryAfter: Duration?

  /// What became of the refresh token; where there is none, of the access tokens.
  var outcome: AccountForget.Revocation {
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

  /// The tokens about which the provider is to be asked again.
  var unanswered: [Revocation.Token] { tokens(living: .unreachable) }

  /// The tokens whose provider is not in the configuration now, or has another place there.
  var notConfigured: [Revocation.Token] { tokens(living: .notConfigured) }

  private func tokens(living why: LivingToken.Reason) -> [Revocation.Token] {
    verdicts.filter { $0.verdict == .living(why) }.map(\.token)
  }

  /// - Parameter why: The same for all of them.
  init(_ tokens: [Revocation.Token], living why: LivingToken.Reason) {
    verdicts = tokens.map { ($0, .living(why)) }
  }

  init() {}
}

/// What a caller is told of a revocation.
struct RevocationResult: Sendable {
  var revoked: AccountForget.Revocation
  var living: [LivingToken]
  /// Until when the provider is asked again; nil where it is not.
  var retriedUntil: Timestamp?
}
