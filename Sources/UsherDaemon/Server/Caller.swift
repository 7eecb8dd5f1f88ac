import NIOCore
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

/// Who is at the other end of a connection, asked of the kernel once, at accept, and what the rules
/// that are in force make of him.
struct Caller: Sendable {
  /// Whose its accounts and flows are.
  let owner: Owner
  let policy: CallerPolicy
  /// Whether it came by the admin socket, which is for root and the daemon's own user.
  let isAdmin: Bool
  /// For the journal: `uid 1000`, `till.service`.
  let label: String
  /// As the audit knows it.
  let audited: AuditedCaller
  /// Whose accounts it may read beside its own.
  let lenders: Set<Owner>
  /// When its connection was accepted, by the monotonic clock; nil for a caller without one.
  let connectedAt: Timestamp?

  /// - Parameter audited: Nil: a process of the owner's user of which nothing else is known.
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

  /// The user the process runs as.
  var uid: UInt32 { audited.uid }

  /// Whether nothing gives it a right: all such callers share a few connections, and small lines.
  var isUnauthorized: Bool { !isAdmin && policy.hasNoRights }

  /// Whose passcode and fingers are meant.
  var person: LocalPerson { LocalPerson(realm: owner.realm, uid: uid) }

  /// Which of the owner's clients it is: the first rule that matches it, else `(user)`.
  var client: String { policy.clientName }

  /// Whether it may see and take back what other clients of the owner were granted: the person's own
  /// programs may, and the administrator's.
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
  /// A client, whichever user it runs as.
  fileprivate init(realm: String, client: String) {
    self.init(realm: realm, uid: Self.anyUser, client: client)
  }
}

// MARK: - Which accounts

extension Caller {
  /// Whether there is such an account for the caller: its own, or one it may read, that its rules are
  /// about.
  func sees(_ record: AccountRecord, _ method: String) -> Bool {
    sees(record, PolicyRequest(method: method))
  }

  /// Returns whether there is such an account for a call.
  ///
  /// - Parameter request: The call with all that a rule may list it by: a rule that lists one kind of
  ///   flow says nothing of a request without a kind.
  func sees(_ record: AccountRecord, _ request: PolicyRequest) -> Bool {
    guard
      record.owner == owner || lenders.contains(record.owner) && request.traits.readsSharedAccounts
    else {
      return false
    }
    let isLent = record.owner != owner
    guard policy.choosesAccounts || isLent, !isAdmin else { return true }
    guard case .denied(let denial) = decide(request.about(record)) else { return true }
    // That another client has an account at a provider of which no rule of his speaks is not told.
    return denial.cause != .account && !(isLent && denial.cause == .notListed)
  }
}

extension Caller {
  /// Whether events for an audience may be for it; ``hears(_:)`` decides about each of them.
  func belongs(to audience: EventBus.Audience) -> Bool {
    guard !isAdmin else { return true }
    return switch audience {
    case .everybody: true
    case .owner(let owner): owner == self.owner
    case .question(let person, let asker):
      person == self.person || (asker != client && policy.confirms.contains(asker))
    }
  }

  /// Returns whether the caller is told of an event: of an account, where its rules are about it; of a
  /// provider, where it may see that; of a question, where it may answer that.
  func hears(_ entry: EventBus.Entry) -> Bool {
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

  /// Returns the same request about an account.
  func about(_ record: AccountRecord) -> PolicyRequest {
    var request = self
    request.provider = record.provider.rawValue
    request.account = Account(record)
    request.lacksAccount = false
    return request
  }
}
