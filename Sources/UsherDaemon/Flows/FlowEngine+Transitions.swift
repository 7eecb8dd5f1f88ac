import Logging
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

// How a flow processes an event or a request: the machine's decision is stored and then carried
// out.
extension FlowEngine {
  func process(_ mail: LiveFlow.Mail, _ flow: LiveFlow) async {
    switch mail {
    case .event(let event): await process(event, flow)
    case .request(let request, _, let reply):
      reply(
        await Result(awaiting: { () async throws(UsherError) in try await process(request, flow) }))
    }
  }

  /// Stores a new flow, makes the flow visible through `register`, and starts its first effects.
  ///
  /// - Parameter predecessor: The ended flow whose handoff secret the new flow takes over. The
  ///   secret is removed from the ended flow in the same commit.
  func open(
    _ flow: LiveFlow, with answer: EngineAnswer, at transition: TransitionContext,
    taking predecessor: LiveFlow? = nil, register: () -> Void
  ) async throws(UsherError) {
    let before = flow.snapshot
    guard let machine = before.machine else { return }
    let decision = FlowDecision(answer, machine, before, at: transition.now)
    try await repository.withAccountLock(for: decision.grant, flow) { () throws(UsherError) in
      let cleared = try predecessor.map { predecessor throws(UsherError) in
        try repository.withoutHandoffSecret(predecessor, of: machine.config.settings.variety)
      }
      let plan = try await repository.commit(
        decision, flow, after: before, isNew: true, with: cleared.map { [$0.change] } ?? [])
      if let predecessor, let cleared { predecessor.install(cleared.snapshot) }
      register()
      apply(plan, flow, publishing: .started)
    }
  }

  /// Stores a decision in the database, then carries it out.
  private func commit(
    _ decision: FlowDecision, _ flow: LiveFlow, after before: LiveFlow.Snapshot
  ) async throws(UsherError) {
    try await repository.withAccountLock(for: decision.grant, flow) { () throws(UsherError) in
      let decision =
        try preconditionsHold(decision, flow) ? decision : decision.failingPreconditions(before)
      let plan = try await repository.commit(decision, flow, after: before)
      FailPoint.reach("flow.before-effects")
      guard !plan.isEmpty else { return }
      let hasNewRevision = decision.next.revision > before.revision
      apply(
        plan, flow,
        publishing: hasNewRevision ? (decision.next.isFinished ? .finished : .moved) : nil)
    }
  }

  /// Whether the account and consents that a success relies on still exist; true for any other
  /// decision. They may have been removed while the flow ran, and an account that was forgotten is
  /// not recreated.
  private func preconditionsHold(_ decision: FlowDecision, _ flow: LiveFlow) throws(UsherError)
    -> Bool
  {
    guard let preconditions = decision.preconditions else { return true }
    let record = try accounts.find(preconditions.account, of: [flow.owner])
    let client = flow.client ?? CallerPolicy.ownPrograms
    return record.map {
      preconditions.consents.isSubset(of: $0.consents.grants(of: client, at: decision.at))
    } ?? false
  }

  /// Applies a stored decision in memory, publishes the progress, and starts the effects.
  private func apply(_ plan: FlowRepository.Plan, _ flow: LiveFlow, publishing progress: Progress?)
  {
    let (decision, machine) = (plan.decision, plan.decision.machine)
    var next = decision.next
    if let account = plan.account { accounts.install(account) }
    if next.isFinished {
      next.machine = nil
      flow.compensation = machine.compensation
      flow.setTimer(nil)
      deadlines.unwatch(flow)
      effects.stopListening(flow)
      // Done before callers learn that the flow has ended: a caller may immediately start the flow
      // that needs the handoff secret.
      index.recordEnd(of: flow, leavesHandoffSecret: next.ending.handoffSecret != nil)
    }
    flow.install(next, packed: plan.packed)
    effects.releaseReader(flow)
    if next.isFinished {
      // Called again, to close a listener that was being opened in the meantime. One that opens
      // later finds that the flow has ended.
      effects.stopListening(flow)
    } else {
      deadlines.watch(flow)
      hibernator.recordChange(flow)
    }
    // Published first, because the outcome of an effect may change the flow at once.
    if let progress { publish(progress, flow, at: decision.at) }
    if decision.savesFingers { effects.saveFingers(flow) }
    if let warning = decision.warning {
      var metadata = flow.metadata
      metadata["cause"] = .string(warning)
      dependencies.log.warning("a part of the user's profile was not read", metadata: metadata)
    }
    for call in decision.cleanUp where call.revokedToken == nil {
      effects.cleanUp(call, machine.config, flow)
    }
    for revocation in plan.revocations {
      Task(executorPreference: dependencies.executor) { [revocations] in
        await revocations.revokeInBackground(revocation)
      }
    }
    // Nothing is sent for a withheld owner. The event `.resumed` repeats the effects later, as
    // after a crash.
    guard !isWithheld(flow.owner) else { return }
    for effect in decision.effects {
      if case .store = effect, let account = plan.account {
        deliver(.event(.daemon(.answered(.stored(account.record.id)))), to: flow)
        continue
      }
      // The outcome of an effect is dropped if the engine or the flow has been released.
      effects.perform(effect, flow, machine) { [weak self, weak flow] event in
        guard let flow else { return }
        self?.deliver(.event(event), to: flow)
      }
    }
  }
}

// Requests from callers. A request is either stored before it is answered, or refused without any
// change.
extension FlowEngine {
  private func process(
    _ request: LiveFlow.Request, _ flow: LiveFlow
  ) async throws(UsherError) -> CallbackVerdict {
    let before = flow.snapshot
    let machine = before.isFinished ? nil : before.machine
    switch request {
    case .submit(let input, let revision):
      guard let machine else { throw finished(flow) }
      try await submit(input, revision, to: machine, flow, before)
    case .cancel:
      guard let machine else { break }
      let now = dependencies.clock.now()
      try await commit(.abandoning(machine, before, as: .cancelled, at: now), flow, after: before)
    case .callback(let callback):
      guard let machine else { return .noMatch }
      let verdict = machine.validate(callback) { accounts.record($0)?.mainToken }
      guard verdict == .match else { return verdict }
      if let decision = decide(.calledBack(callback), machine, before) {
        try await commit(decision, flow, after: before)
      }
    }
    return .match
  }

  private func submit(
    _ input: FlowInput, _ revision: Int, to machine: any FlowMachine, _ flow: LiveFlow,
    _ before: LiveFlow.Snapshot
  ) async throws(UsherError) {
    guard revision == before.revision else {
      throw UsherError(
        .conflict,
        "flow \(flow.id) is at revision \(before.revision), not \(revision): read it again",
        detail: .init(field: "revision", flow: flow.id))
    }
    guard input.kind == before.view.step.kind else {
      throw UsherError(
        .unexpectedInput,
        "the step is \(before.view.step.kind.rawValue), the input is for \(input.kind.rawValue)",
        detail: .init(field: "input.type", flow: flow.id))
    }
    var changed = machine
    var transition = dependencies.transitionContext()
    let answer = changed.handle(.input(input), at: &transition)
    switch answer {
    case .refuse(let field, let message):
      throw UsherError(.invalidInput, message, detail: .init(field: field, flow: flow.id))
    case .ignore:
      throw UsherError(
        .unexpectedInput, "the step \(input.kind.rawValue) does not accept this input now",
        detail: .init(field: "input", flow: flow.id))
    case .proceed, .finish, .fail:
      try await commit(
        FlowDecision(answer, changed, before, at: transition.now), flow, after: before)
    }
    // If the exchange had timed out, the input has ended the flow instead of being accepted.
    if case .fail(let failure, _) = answer, failure.reason == .exchangeTimedOut {
      throw finished(flow)
    }
  }

  private func finished(_ flow: LiveFlow) -> UsherError {
    UsherError(.flowFinished, "flow \(flow.id) has ended", detail: .init(flow: flow.id))
  }
}

// Events, such as the outcome of a call to the provider. They have already happened, so storing the
// decision about them is retried while the disk fails. If the store refuses it, the flow ends.
extension FlowEngine {
  private func process(_ event: EngineEvent, _ flow: LiveFlow) async {
    let before = flow.snapshot
    guard let machine = before.machine, !before.isFinished else {
      return await compensate(for: event, flow)
    }
    // The flow may have got a later deadline after the event of the earlier one was posted.
    if case .expired = event, flow.watchedUntil != nil, before.expiresAt > dependencies.clock.now()
    {
      return
    }
    guard let decision = decide(event, machine, before) else { return }
    if await commitWithRetries(on: decision, flow, after: before) { return }
    let answer = machine.storeRefused(event)
    let end = FlowDecision(answer, machine, before, at: dependencies.clock.now())
    await commitWithRetries(on: end, flow, after: before)
  }

  /// Returns the state machine's decision about an event; nil if it does not concern the flow.
  private func decide(
    _ event: EngineEvent, _ machine: any FlowMachine, _ before: LiveFlow.Snapshot
  ) -> FlowDecision? {
    var changed = machine
    var transition = dependencies.transitionContext()
    let answer: EngineAnswer
    switch event {
    case .expired: return .abandoning(machine, before, as: .expired, at: transition.now)
    case .providerChanged(let error): answer = machine.providerChanged(by: error)
    case .stateInUse: answer = machine.stateInUse
    default: answer = changed.handle(event, at: &transition)
    }
    if case .ignore = answer { return nil }
    return FlowDecision(answer, changed, before, at: transition.now)
  }

  /// Undoes the result of a call to the provider that succeeded after the flow's end, if the
  /// provider supports that.
  private func compensate(for event: EngineEvent, _ flow: LiveFlow) async {
    guard case .called(let call, let outcome) = event, let compensation = flow.compensation else {
      return
    }
    for call in compensation.cleanUp(call, outcome) {
      if let revocation = repository.revocation(by: call, flow, compensation.provider) {
        await revocations.enqueue(revocation)
      } else {
        effects.cleanUp(call, compensation.provider, flow)
      }
    }
  }

  /// Retries storing a decision until the store accepts it or the engine stops. After a stop, the
  /// flow repeats its effects at the next start. Requests that wait in the meantime are refused
  /// with the storage error.
  ///
  /// - Returns: False if the store refuses the decision, and would refuse it again.
  @discardableResult
  private func commitWithRetries(
    on decision: FlowDecision, _ flow: LiveFlow, after before: LiveFlow.Snapshot
  ) async -> Bool {
    var pause = Duration.milliseconds(200)
    while true {
      do throws(UsherError) {
        try await commit(decision, flow, after: before)
        return true
      } catch {
        var metadata = flow.metadata
        if let cause = error.cause { metadata["cause"] = .string(String(describing: cause)) }
        dependencies.log.error("\(error.message)", metadata: metadata)
        guard error.reason == .storageUnavailable else { return false }
        guard isRunning else { return true }
        await dependencies.scheduler.pause(pause)
        for reply in flow.takeRequests() { reply(.failure(error)) }
        pause = min(pause * 2, .seconds(5))
      }
    }
  }
}
