import NIOCore
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

/// The peer of a connection, identified by the kernel once when the connection was accepted, and
/// its rights under the current policy rules.
struct Caller: Sendable {
  /// The owner of the caller's accounts and flows.
  let owner: Owner
  let policy: CallerPolicy
  /// Whether the caller connected to the admin socket, which is for root and the daemon's own user.
  let isAdmin: Bool
  /// The caller's name in the journal: `uid 1000`, `till.service`.
  let label: String
  /// The caller's client, ids, unit and executable, in the form in which the audit log stores them.
  let audited: AuditedCaller
  /// The other owners, clients with accounts of their own, whose rules share their accounts with
  /// the caller's client.
  let lenders: Set<Owner>
  /// The time at which the connection was accepted, by the monotonic clock; nil for a caller
  /// without a connection.
  let connectedAt: Timestamp?

  /// - Parameter audited: The caller for the audit log; nil for a process of the owner's user about
  ///   which nothing else is known.
  init(
    owner: Owner, policy: CallerPolicy, isAdmin: Bool, label: String,
    audited: AuditedCaller? = nil, connectedAt: Timestamp? = nil
  ) {
    self.owner = owner
    self.policy = policy
    self.isAdmin = isAdmin
    self.label = label
    self.audited =
      audited ?? AuditedCaller(client: policy.clientName, uid: owner.uid, gid: owner.uid, pid: 0)
    self.connectedAt = connectedAt
    lenders = Set(policy.lenders.map { Owner(realm: owner.realm, client: $0) })
  }

  /// The user as which the caller's process runs.
  var uid: UInt32 { audited.uid }

  /// Whether no policy rule grants the caller anything. All such callers share a few connections,
  /// and their lines must be short.
  var isUnauthorized: Bool { !isAdmin && policy.hasNoRights }

  /// The person whose passcode and fingerprints are checked for this caller.
  var person: LocalPerson { LocalPerson(realm: owner.realm, uid: uid) }

  /// The caller's client: the name of the first client rule that matches, else `(user)`.
  var client: String { policy.clientName }

  /// Whether the caller may see and withdraw the consents of the owner's other clients: true for
  /// the user's own programs and for the administrator.
  var speaksForAllClients: Bool { isAdmin || client == CallerPolicy.ownPrograms }

  func decide(_ request: PolicyRequest) -> Decision {
    isAdmin ? .allow(rule: "(admin)") : policy.decide(request)
  }

  func may(_ method: String, provider: ProviderName) -> Bool {
    decide(PolicyRequest(method: method, provider: provider.rawValue)).isAllowed
  }
}

extension Caller {
  init(_ connectingPeer: PeerIdentity, policy: Policy) {
    let identity = connectingPeer.identity
    let policy = policy.caller(identity)
    let owner =
      switch policy.ownership {
      case .user: Owner(realm: connectingPeer.realm, uid: identity.uid)
      case .client: Owner(realm: connectingPeer.realm, client: policy.clientName)
      }
    self.init(
      owner: owner, policy: policy, isAdmin: connectingPeer.isAdmin,
      label: identity.unit ?? "uid \(identity.uid)",
      audited: AuditedCaller(
        client: policy.clientName, uid: identity.uid, gid: identity.gid, pid: connectingPeer.pid,
        unit: identity.unit, invocation: connectingPeer.invocation, executable: identity.executable),
      connectedAt: connectingPeer.connectedAt)
  }
}

extension Owner {
  /// Creates the owner of the accounts of a client rule with `owner = "client"`, whichever user the
  /// client runs as.
  fileprivate init(realm: String, client: String) {
    self.init(realm: realm, uid: Self.anyUser, client: client)
  }
}

// MARK: - Which accounts and events

extension Caller {
  /// Returns whether a caller of the method may know that an account exists: the caller owns the
  /// account or its owner shares it with the caller, and the caller's rules do not leave this
  /// account out. If not, the account is reported as not found. This is not the permission to call.
  func maySee(_ record: AccountRecord, _ method: String) -> Bool {
    maySee(record, PolicyRequest(method: method))
  }

  /// Returns whether an account exists for a call; if not, the account is reported as not found.
  ///
  /// - Parameter request: The call with every property by which a rule may select. A rule that
  ///   lists one kind of flow does not match a request without a kind.
  func maySee(_ record: AccountRecord, _ request: PolicyRequest) -> Bool {
    guard
      record.owner == owner || lenders.contains(record.owner) && request.traits.readsSharedAccounts
    else { return false }
    let isLent = record.owner != owner
    guard policy.choosesAccounts || isLent, !isAdmin else { return true }
    guard case .denied(let denial) = decide(request.about(record)) else { return true }
    // The caller must not learn that another client has an account at a provider that no rule of
    // the caller covers.
    return denial.cause != .account && !(isLent && denial.cause == .notListed)
  }

  /// Returns whether the caller may belong to the audience of events; ``mayReceive(_:)`` decides
  /// about each event.
  func belongs(to audience: EventBus.Audience) -> Bool {
    guard !isAdmin else { return true }
    return switch audience {
    case .everybody: true
    case .owner(let owner): owner == self.owner
    case .question(let person, let asker):
      person == self.person || (asker != client && policy.confirms.contains(asker))
    }
  }

  /// Returns whether the caller may receive an event: the event of an account if the caller's
  /// policy rules cover the account, of a provider if the caller may see the provider, and of a
  /// question if the caller may answer the question.
  func mayReceive(_ entry: EventBus.Entry) -> Bool {
    if let question = entry.question {
      let mayAnswer = decide(PolicyRequest(method: ConfirmAnswer.name)).isAllowed
      return right(over: question) != nil && (mayAnswer || question.call.client == client)
    }
    if entry.event.topic == .provider, let provider = entry.event.provider {
      return may(ProviderGet.name, provider: provider)
    }
    guard let account = entry.account, policy.choosesAccounts, !isAdmin else { return true }
    var request = PolicyRequest(
      method: EventsSubscribe.name, provider: entry.event.provider?.rawValue)
    request.account = account
    guard case .denied(let denial) = decide(request) else { return true }
    return denial.cause != .account
  }
}

extension PolicyRequest {
  init(_ method: String, about record: AccountRecord) {
    self = PolicyRequest(method: method).about(record)
  }

  /// Returns the same request, but about the given account.
  func about(_ record: AccountRecord) -> PolicyRequest {
    var request = self
    request.provider = record.provider.rawValue
    request.account = Account(record)
    request.lacksAccount = false
    return request
  }
}
