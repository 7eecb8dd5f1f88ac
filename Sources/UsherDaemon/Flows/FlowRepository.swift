import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// The flows on disk: plans the rows that a decision changes, commits them together, and reads the
/// flows at a start of the daemon.
struct FlowRepository: Sendable {
  let accounts: AccountRepository
  let coder: FlowCoder
  let metadataPool: FlowMetadataPool

  var dependencies: Dependencies { accounts.dependencies }
  var store: Store { accounts.store }

  /// A decision about a flow, and the changes that store it.
  struct Plan {
    /// The decision. The result of a succeeded flow contains the account's id.
    var decision: FlowDecision
    var changes: [Change] = []
    var account: AccountRepository.Update?
    /// The flow's packed state machine, as its row stores it; nil if the row is unchanged or the
    /// flow has ended.
    var packed: PackedMachine?
    /// The revocations of the flow's unused tokens; `changes` stores them as notes.
    var revocations: [Revocation] = []

    /// Whether there is nothing to store and no effect to run.
    var isEmpty: Bool {
      changes.isEmpty && account == nil && decision.effects.isEmpty && decision.cleanUp.isEmpty
    }
  }

  /// Runs `body`, which commits a transition. If `grant` is to be stored as an account, `body` runs
  /// under the lock on the accounts of the flow's owner at the provider.
  func withAccountLock(
    for grant: AccountGrant?, _ flow: LiveFlow, _ body: () async throws(UsherError) -> Void
  ) async throws(UsherError) {
    guard grant != nil else { return try await body() }
    let key = AccountRepository.OwnerAtProvider(
      owner: flow.owner, provider: flow.provider)
    try await accounts.changeLock.withLock(key, body)
  }

  /// Plans a decision and writes all its changes in one commit.
  ///
  /// - Parameters:
  ///   - isNew: Whether the flow has no row in the store yet.
  ///   - more: Changes of other rows for the same commit.
  func commit(
    _ decision: FlowDecision, _ flow: LiveFlow, after before: LiveFlow.Snapshot,
    isNew: Bool = false, with more: [Change] = []
  ) async throws(UsherError) -> Plan {
    var plan = try plan(decision, flow, before, isNew)
    do throws(UsherError) {
      try await store.commit(plan.changes + more)
    } catch {
      guard case .account? = error.cause as? Conflict else { throw error }
      // Another flow of the same user has created the account in the meantime, so the new plan
      // updates that account.
      plan = try self.plan(decision, flow, before, isNew)
      try await store.commit(plan.changes + more)
    }
    return plan
  }

  private func plan(
    _ decision: FlowDecision, _ flow: LiveFlow, _ before: LiveFlow.Snapshot, _ isNew: Bool
  ) throws(UsherError) -> Plan {
    let (machine, next) = (decision.machine, decision.next)
    let provider = machine.config
    let hasNewRevision = next.revision > before.revision
    var plan = Plan(decision: decision)
    plan.account = try decision.grant.map { grant throws(UsherError) in
      try accounts.update(
        grant, owner: flow.owner, provider: flow.provider,
        client: flow.client ?? CallerPolicy.ownPrograms, uid: flow.uid, place: provider.tokenPlace,
        at: decision.at)
    }
    if let account = plan.account {
      // Only the results of OpenID and OAuth sign-ins, which can be repeated, tell about the grant.
      let change = decision.grant?.signInOptions == nil ? nil : account.grantChange
      plan.decision.next.ending = next.ending.naming(account.record.id, change)
    }
    if isNew, let id = flow.requestID {
      let end = decision.at + .seconds(dependencies.config.limits.requestIdDays * 86_400)
      let request = RequestRow(
        owner: flow.owner, provider: flow.provider, requestID: id, flow: flow.id, expiresAt: end)
      plan.changes.append(.rememberRequest(request))
    }
    // Foreign keys require this order: the flow's row before its first journal row, and the
    // account's row before its token rows.
    if isNew || hasNewRevision || before.machine.map({ !$0.isSame(as: machine) }) ?? true {
      plan.packed = try next.isFinished ? nil : machine.packed(by: coder)
      let row = try row(flow, plan.decision.next, plan.packed, of: provider.settings.variety)
      plan.changes.append(.putFlow(row))
    }
    if isNew { plan.changes.append(.appendJournal(journal(flow, before))) }
    if hasNewRevision { plan.changes.append(.appendJournal(journal(flow, next))) }
    plan.revocations = decision.cleanUp.compactMap { revocation(by: $0, flow, provider) }
    for revocation in plan.revocations { plan.changes.append(.putNote(try revocation.row())) }
    plan.changes += plan.account?.changes ?? []
    return plan
  }

  /// Returns the revocation to store for a call that revokes a token; nil for other calls.
  func revocation(
    by call: any ProviderCall, _ flow: LiveFlow, _ provider: ProviderConfig
  ) -> Revocation? {
    call.revokedToken.map { Revocation(of: $0, obtainedBy: flow, by: provider, dependencies) }
  }

  /// Returns an ended flow's state without its handoff secret, and the change that stores it.
  func withoutHandoffSecret(
    _ flow: LiveFlow, of type: ProviderVariety
  ) throws(UsherError) -> (snapshot: LiveFlow.Snapshot, change: Change) {
    var snapshot = flow.snapshot
    snapshot.ending.handoffSecret = nil
    return (snapshot, .putFlow(try row(flow, snapshot, nil, of: type)))
  }

  /// Returns the row of a flow.
  ///
  /// - Parameter packed: The packed machine; nil if the flow has ended.
  private func row(
    _ flow: LiveFlow, _ snapshot: LiveFlow.Snapshot, _ packed: PackedMachine?,
    of type: ProviderVariety
  ) throws(UsherError) -> FlowRow {
    let stored = StoredFlow(
      type: type, client: flow.client, uid: flow.uid,
      credentials: snapshot.isFinished ? nil : flow.credentials, state: snapshot.view.state,
      ending: snapshot.ending)
    return FlowRow(
      id: flow.id, owner: flow.owner, provider: flow.provider, kind: flow.kind,
      status: snapshot.ending.status.rawValue, revision: snapshot.revision,
      state: snapshot.view.state, createdAt: flow.createdAt, updatedAt: snapshot.updatedAt,
      expiresAt: snapshot.expiresAt, requestID: flow.requestID, key: snapshot.view.key,
      payload: try stored.payload(
        with: packed.map { packed throws(UsherError) in try coder.expanded(packed.bytes) }))
  }

  private func journal(_ flow: LiveFlow, _ snapshot: LiveFlow.Snapshot) -> JournalRow {
    JournalRow(
      flow: flow.id, revision: snapshot.revision, state: snapshot.view.state,
      status: snapshot.ending.status.rawValue, stepType: snapshot.view.step.kind.rawValue,
      at: snapshot.updatedAt)
  }
}

extension FlowEnding {
  /// Returns the ending with the account's id, and what its earlier grant lost, added to the
  /// result, if the flow succeeded.
  fileprivate func naming(_ account: AccountID, _ change: GrantChange?) -> FlowEnding {
    guard status == .succeeded, case .object(var members)? = result else { return self }
    members["account"] = .string(account.rawValue)
    switch change {
    case nil: break
    case .kept?: members["earlierGrant"] = "kept"
    case .replaced(let lostScope, let lostAudiences)?:
      members["earlierGrant"] = "replaced"
      if !lostScope.isEmpty { members["lostScope"] = .string(lostScope) }
      if !lostAudiences.isEmpty {
        members["lostAudiences"] = .array(lostAudiences.map { .string($0) })
      }
    }
    var named = self
    named.result = .object(members)
    return named
  }
}
