import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

// From a machine's answer to stored changes and effects.
extension FlowRunner {
  /// The consequences of a machine's answer.
  struct Decision {
    var next: LiveFlow.Standing
    var effects: [EngineEffect]
    /// The account to store, at the flow's end or before.
    var grant: AccountGrant?
    var at: Timestamp
    var cleanUp: [any ProviderCall]
  }

  /// The changes that store a decision, and the account update among them.
  struct Plan {
    var changes: [Change]
    var account: AccountRepository.Update?
    /// The packed machine of the row; nil if the row is unchanged or the flow has ended.
    var packed: PackedMachine?
    /// Revocations of tokens that will not be used; their notes are among `changes`.
    var revocations: [Revocation] = []
  }

  func apply(
    _ answer: EngineAnswer, _ machine: any AnyFlowMachine, _ before: LiveFlow.Standing,
    _ session: LiveFlow, at now: Timestamp
  ) async throws(UsherError) {
    if case .ignore = answer { return }
    try await inTurn(of: answer.grant, session) { () throws(UsherError) in
      try await write(
        overtaking(answer, machine, session, at: now) ?? answer, machine, before, session, at: now)
    }
  }

  /// Returns the failure that replaces an answer whose basis was removed while the flow ran: a
  /// forgotten account is not recreated, and data is not disclosed after its consent was withdrawn.
  /// Nil if the basis still holds.
  private func overtaking(
    _ answer: EngineAnswer, _ machine: any AnyFlowMachine, _ session: LiveFlow, at now: Timestamp
  ) throws(UsherError) -> EngineAnswer? {
    guard let reliance = answer.grant?.reliance else { return nil }
    let client = session.client ?? CallerPolicy.ownPrograms
    let record = try accounts.find(reliance.account, of: [session.owner])
    let remembered = record?.consents.grants(of: client, at: now)
    guard let remembered, reliance.consents.isSubset(of: remembered) else {
      let failure = Failure(
        reason: .denied, title: "No longer available",
        message: "the account was forgotten or a consent was revoked in the meantime",
        retryable: true, provider: machine.providerErrorCode(for: .denied))
      return .fail(failure, cleanUp: [])
    }
    return nil
  }

  /// Runs `body`; if the answer stores an account, holds the lock on the owner's accounts at the
  /// provider meanwhile.
  func inTurn(
    of grant: AccountGrant?, _ session: LiveFlow, _ body: () async throws(UsherError) -> Void
  ) async throws(UsherError) {
    guard grant != nil else { return try await body() }
    let shelf = AccountRepository.OwnerAtProvider(owner: session.owner, provider: session.provider)
    try await accounts.turns.withLock(shelf, body)
  }

  private func write(
    _ answer: EngineAnswer, _ machine: any AnyFlowMachine, _ before: LiveFlow.Standing,
    _ session: LiveFlow, at now: Timestamp
  ) async throws(UsherError) {
    var decision = decide(answer, machine, before, at: now)
    var plan = try plan(decision, session, before)
    do {
      try await store.commit(plan.changes)
    } catch  where error.cause is Conflict {
      // Another flow of the same user created the account first: update that account instead.
      decision = decide(answer, machine, before, at: now)
      plan = try self.plan(decision, session, before)
      try await store.commit(plan.changes)
    }
    FailPoint.reach("flow.before-effects")
    guard !(plan.isNothing && decision.isNothing) else { return }
    let isMoved = decision.next.revision > before.revision
    let news = isMoved ? (decision.next.isFinished ? News.finished : .moved) : nil
    take(decision, plan, session, announcing: news)
  }

  func decide(
    _ answer: EngineAnswer, _ machine: any AnyFlowMachine, _ before: LiveFlow.Standing,
    at now: Timestamp
  ) -> Decision {
    var decision = Decision(
      next: before, effects: [], grant: answer.grant, at: now, cleanUp: [])
    decision.next.machine = machine
    decision.next.view = machine.view
    switch answer {
    case .proceed(let effects): decision.effects = effects
    case .finish(let completion):
      decision.next.ending = FlowEnding(
        status: .succeeded, result: .object(completion.result),
        handoffSecret: completion.handoffSecret)
    case .fail(let failure, let calls):
      decision.next.ending = FlowEnding(
        status: .failed, failure: failure, handoffSecret: machine.grantIfAbandoned?.handoffSecret)
      decision.cleanUp = calls
    case .refuse, .ignore: break
    }
    if decision.next.view != before.view || decision.next.ending != before.ending {
      decision.next.revision += 1
      decision.next.updatedAt = now
    }
    return decision
  }

  func plan(
    _ decision: Decision, _ session: LiveFlow, _ before: LiveFlow.Standing
  ) throws(UsherError) -> Plan {
    let next = decision.next
    let isSame =
      next.revision == before.revision
      && next.machine.map { new in before.machine?.isSame(as: new) ?? false } ?? true
    var plan = Plan(changes: [], account: nil, packed: nil)
    if !isSame {
      plan.packed = try packed(next)
      plan.changes.append(.putFlow(try row(session, next, plan.packed)))
    }
    if next.revision > before.revision {
      plan.changes.append(.appendJournal(journal(session, next)))
    }
    if let provider = next.machine?.provider {
      plan.revocations = decision.cleanUp.compactMap { revocation(by: $0, session, provider) }
      for revocation in plan.revocations {
        plan.changes.append(.putNote(try revocation.row()))
      }
    }
    plan.account = try decision.grant.map { grant throws(UsherError) in
      try accounts.update(
        grant, owner: session.owner, provider: session.provider,
        client: session.client ?? CallerPolicy.ownPrograms, uid: session.uid,
        place: next.machine?.provider.tokenPlace, at: decision.at)
    }
    guard let account = plan.account else { return plan }
    if next.isFinished {
      var finished = next
      finished.ending = next.ending.naming(account.record.id)
      plan.changes[0] = .putFlow(try row(session, finished, nil))
    }
    plan.changes += account.changes
    return plan
  }

  /// Returns the packed machine; nil once the flow has ended.
  func packed(_ standing: LiveFlow.Standing) throws(UsherError) -> PackedMachine? {
    guard !standing.isFinished, let machine = standing.machine else { return nil }
    return try machine.packed(by: coder)
  }

  /// Applies a stored decision in memory, announces it, and starts its effects.
  func take(
    _ decision: Decision, _ plan: Plan, _ session: LiveFlow, announcing news: News?
  ) {
    var next = decision.next
    if let account = plan.account {
      accounts.install(account)
      next.ending = next.ending.naming(account.record.id)
    }
    let machine = next.machine
    if next.isFinished {
      next.machine = nil
      session.epilogue = machine?.epilogue
      session.setTimer(nil)
      deadlines.unwatch(session)
      effects.stopListening(session)
    }
    // Before callers learn of the end: a caller may immediately start the flow that needs the
    // secret.
    if next.isFinished { index.ended(session, handsOnSecret: next.ending.handoffSecret != nil) }
    session.install(next, packed: plan.packed)
    effects.releaseReader(session)
    if !next.isFinished {
      deadlines.watch(session)
      rest.moved(session)
    }
    // Before the effects: the outcome of an effect may move the flow at once.
    if let news { publish(news, session, at: decision.at) }
    guard let machine else { return }
    for call in decision.cleanUp where call.revokedToken == nil {
      effects.tidy(call, machine.provider, session)
    }
    for revocation in plan.revocations {
      Task(executorPreference: dependencies.executor) { [revocations] in
        await revocations.pursue(revocation)
      }
    }
    // Nothing is sent for a withheld owner. `.resumed` repeats the effects later, as after a crash.
    guard !isWithheld(session.owner) else { return }
    for effect in decision.effects {
      if case .store = effect, let account = plan.account {
        deliver(.event(.daemon(.answered(.stored(account.record.id)))), to: session)
        continue
      }
      // The outcome is dropped if the runner or the flow has been released.
      effects.perform(effect, session, machine) { [weak self, weak session] event in
        guard let session else { return }
        self?.deliver(.event(event), to: session)
      }
    }
  }

  /// Returns the revocation for a call that revokes a token; nil for other calls.
  func revocation(
    by call: any ProviderCall, _ session: LiveFlow, _ provider: ProviderConfig
  ) -> Revocation? {
    call.revokedToken.map { Revocation(of: $0, brought: session, by: provider, dependencies) }
  }

  /// Creates the row of a flow.
  ///
  /// - Parameters:
  ///   - packed: The packed machine; nil if the flow has ended.
  ///   - type: The provider's variety, for a standing that has no machine.
  func row(
    _ session: LiveFlow, _ standing: LiveFlow.Standing, _ packed: PackedMachine?,
    of type: ProviderVariety? = nil
  ) throws(UsherError) -> FlowRow {
    guard let type = standing.machine?.provider.settings.variety ?? type else {
      throw UsherError(.internalError, "flow \(session.id) has no machine to store")
    }
    let stored = StoredFlow(
      type: type, client: session.client, uid: session.uid,
      credentials: standing.isFinished ? nil : session.credentials, state: standing.view.state,
      ending: standing.ending)
    return FlowRow(
      id: session.id, owner: session.owner, provider: session.provider, kind: session.kind,
      status: standing.ending.status.rawValue, revision: standing.revision,
      state: standing.view.state, createdAt: session.createdAt, updatedAt: standing.updatedAt,
      expiresAt: standing.expiresAt, requestID: session.requestID, key: standing.view.key,
      payload: try stored.payload(
        with: packed.map { packed throws(UsherError) in try coder.whole(packed.bytes) }))
  }

  func journal(_ session: LiveFlow, _ standing: LiveFlow.Standing) -> JournalRow {
    JournalRow(
      flow: session.id, revision: standing.revision, state: standing.view.state,
      status: standing.ending.status.rawValue, stepType: standing.view.step.kind.rawValue,
      at: standing.updatedAt)
  }

  func requestRow(
    _ session: LiveFlow, _ id: String, at now: Timestamp
  ) -> RequestRow {
    RequestRow(
      owner: session.owner, provider: session.provider, requestID: id, flow: session.id,
      expiresAt: now + .seconds(dependencies.config.limits.requestIdDays * 86_400))
  }
}

extension FlowRunner.Decision {
  /// Whether it has no effects and no clean-up calls.
  var isNothing: Bool { effects.isEmpty && cleanUp.isEmpty }
}

extension FlowRunner.Plan {
  /// Whether it changes nothing in the store.
  var isNothing: Bool { changes.isEmpty && account == nil }
}

extension EngineAnswer {
  /// The account grant that the answer stores.
  var grant: AccountGrant? {
    switch self {
    case .finish(let completion): return completion.grant
    case .proceed(let effects):
      let grants = effects.compactMap(\.grant)
      assert(grants.count < 2, "an answer keeps one account at most")
      return grants.first
    case .fail, .refuse, .ignore: return nil
    }
  }
}

extension EngineEffect {
  fileprivate var grant: AccountGrant? {
    if case .store(let grant) = self { return grant }
    return nil
  }
}

extension FlowEnding {
  /// Returns the ending with the account id added to the result of a succeeded flow.
  func naming(_ account: AccountID) -> FlowEnding {
    guard status == .succeeded, case .object(var members)? = result else { return self }
    members["account"] = .string(account.rawValue)
    var named = self
    named.result = .object(members)
    return named
  }
}
