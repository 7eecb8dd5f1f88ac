import JSONRPC
import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Passes events to a flow's machine, stores the decision, then carries it out.
///
/// State, revision and journal row are on disk before an effect runs and before a caller is
/// answered. The events of one flow are processed one at a time; flows do not wait for each other.
final class FlowRunner: Sendable {
  let dependencies: Dependencies
  let store: Store
  let accounts: AccountRepository
  let events: EventBus
  let effects: EffectRunner
  let revocations: RevocationQueue
  let log: Logger
  /// Whether an owner is withheld: nothing is sent for the owner's flows.
  let isWithheld: @Sendable (Owner) -> Bool
  let index = FlowIndex()
  let coder: FlowCoder
  let rest = FlowHibernator()
  let families = FlowFamilies()
  private let isStopped = Mutex(false)
  /// The number of flows that are processing mail.
  private let busy = Atomic(0)
  let deadlines: FlowDeadlines

  init(
    dependencies: Dependencies, store: Store, accounts: AccountRepository, events: EventBus,
    effects: EffectRunner,
    revocations: RevocationQueue, log: Logger,
    isWithheld: @escaping @Sendable (Owner) -> Bool = { _ in false }
  ) {
    self.dependencies = dependencies
    self.store = store
    self.accounts = accounts
    self.events = events
    self.effects = effects
    self.revocations = revocations
    self.log = log
    self.isWithheld = isWithheld
    coder = FlowCoder(nonce: dependencies.identifier("provider_"))
    deadlines = FlowDeadlines(dependencies)
    deadlines.onExpiry { [weak self] in self?.deliver(.expire, to: $0) }
  }

  /// Posts mail to a flow and starts a task to process it if none is running.
  func deliver(_ mail: LiveFlow.Mail, to session: LiveFlow) {
    guard !isStopped.withLock({ $0 }) else {
      return refuse(mail, UsherError(.shuttingDown, "usherd is stopping"))
    }
    busy.add(1, ordering: .relaxed)
    guard session.post(mail) else { return doneWithMail() }
    Task(executorPreference: dependencies.executor) { [self] in await drain(session) }
  }

  private func doneWithMail() { busy.subtract(1, ordering: .relaxed) }

  private func drain(_ session: LiveFlow) async {
    while let letter = session.nextMail() {
      await Cause.$correlation.withValue(letter.cause) { await read(letter.mail, session) }
    }
    doneWithMail()
  }

  /// Whether no flow is processing mail.
  var isIdle: Bool { busy.load(ordering: .relaxed) == 0 }

  /// Stores a new flow, makes it visible through `register`, and starts its first effects.
  ///
  /// - Parameter giver: The ended flow whose handoff secret the new flow takes over; the secret is
  ///   removed from it in the same commit.
  func open(
    _ session: LiveFlow, with answer: EngineAnswer, at moment: TransitionContext,
    taking giver: LiveFlow? = nil, register: () -> Void
  ) async throws(UsherError) {
    let before = session.standing
    guard let machine = before.machine else { return }
    try await inTurn(of: answer.grant, session) { () throws(UsherError) in
      let decision = decide(answer, machine, before, at: moment.now)
      var plan = try plan(decision, session, before)
      plan.packed = try packed(decision.next)
      let request = session.requestID.map { requestRow(session, $0, at: moment.now) }
      let first: [Change] =
        (request.map { [.rememberRequest($0)] } ?? []) + [
          .putFlow(try row(session, decision.next, plan.packed)),
          .appendJournal(journal(session, before)),
        ]
      let without = try giver.map { giver throws(UsherError) in
        try emptied(giver, of: machine.provider.settings.variety)
      }
      // The flow's row precedes its first journal row, and the account's row precedes its token
      // rows.
      try await store.commit(first + plan.changes + (without.map { [$0.change] } ?? []))
      if let giver, let without { giver.install(without.standing) }
      register()
      take(decision, plan, session, announcing: .started)
    }
  }

  /// Resumes a flow.
  func resume(_ session: LiveFlow) {
    deadlines.watch(session)
    deliver(.event(.daemon(.resumed)), to: session)
  }

  /// Resumes a flow that was restored from the store, unless mail for it has already done so.
  /// Returns when the flow has processed its mail.
  func resumeOnce(_ session: LiveFlow) async {
    guard !isStopped.withLock({ $0 }) else { return }
    busy.add(1, ordering: .relaxed)
    guard session.postResumption() else { return doneWithMail() }
    await drain(session)
  }

  /// Stops processing. A flow gets `.resumed` at the next start and repeats its effects then.
  func stop() {
    isStopped.withLock { $0 = true }
    deadlines.stop()
    effects.stop()
  }

  func pause(_ session: LiveFlow) {
    session.setTimer(nil)
    effects.letGo(session)
  }

  private func read(_ mail: LiveFlow.Mail, _ session: LiveFlow) async {
    switch mail {
    case .event(let event): await read(event, session)
    case .submit(let input, let revision, let reply):
      reply(await result { () throws(UsherError) in try await submit(input, revision, session) })
    case .cancel(let reply):
      reply(await result { () throws(UsherError) in try await end(session, as: .cancelled) })
    case .callBack(let callback, let reply):
      reply(await result { () throws(UsherError) in try await callBack(callback, session) })
    case .expire: await expire(session)
    }
  }

  private func result<Value>(
    _ body: () async throws(UsherError) -> Value
  ) async -> Result<Value, UsherError> {
    do {
      return .success(try await body())
    } catch {
      return .failure(error)
    }
  }
}

// Requests from callers. A request is stored before it is answered, or it is refused and changes
// nothing.
extension FlowRunner {
  private func submit(
    _ input: FlowInput, _ revision: Int, _ session: LiveFlow
  ) async throws(UsherError) {
    let before = session.standing
    guard let machine = before.machine, !before.isFinished else { throw finished(session) }
    guard revision == before.revision else {
      throw UsherError(
        .conflict, "flow \(session.id) is at revision \(before.revision)",
        detail: .init(field: "revision", flow: session.id))
    }
    guard input.kind == before.view.step.kind else {
      throw UsherError(
        .unexpectedInput,
        "the step is \(before.view.step.kind.rawValue), the input is for \(input.kind.rawValue)",
        detail: .init(field: "input.type", flow: session.id))
    }
    var moved = machine
    var moment = dependencies.moment()
    let answer = moved.receive(.input(input), at: &moment)
    switch answer {
    case .refuse(let field, let message):
      throw UsherError(
        .invalidInput, message, detail: .init(field: field, flow: session.id))
    case .ignore:
      throw UsherError(
        .unexpectedInput, "the current step does not accept this input",
        detail: .init(field: "input", flow: session.id))
    case .proceed, .finish, .fail:
      try await apply(answer, moved, before, session, at: moment.now)
    }
    // Input that came after the exchange timed out ended the flow and was not accepted.
    if case .fail(let failure, _) = answer, failure.reason == .exchangeTimedOut {
      throw finished(session)
    }
  }

  private func finished(_ session: LiveFlow) -> UsherError {
    UsherError(.flowFinished, "flow \(session.id) has ended", detail: .init(flow: session.id))
  }

  /// Handles a provider's callback: it is judged and stored before the provider is answered.
  private func callBack(
    _ callback: ProviderCallback, _ session: LiveFlow
  ) async throws(UsherError) -> CallbackVerdict {
    let before = session.standing
    guard let machine = before.machine, !before.isFinished else { return .noMatch }
    let verdict = machine.validate(callback) { accounts.record($0)?.mainToken }
    guard verdict == .match else { return verdict }
    var moved = machine
    var moment = dependencies.moment()
    let answer = moved.receive(.calledBack(callback), at: &moment)
    try await apply(answer, moved, before, session, at: moment.now)
    return .match
  }

  private func end(_ session: LiveFlow, as status: FlowStatus) async throws(UsherError) {
    let before = session.standing
    guard let machine = before.machine, !before.isFinished else { return }
    let now = dependencies.clock.now()
    let grant = machine.grantIfAbandoned?.grant
    let decision = Decision(
      next: ended(before, status, machine, at: now), effects: [], grant: grant, at: now,
      cleanUp: machine.callsIfAbandoned)
    try await inTurn(of: grant, session) { () throws(UsherError) in
      let plan = try plan(decision, session, before)
      try await store.commit(plan.changes)
      take(decision, plan, session, announcing: .finished)
    }
  }

  private func ended(
    _ before: LiveFlow.Standing, _ status: FlowStatus, _ machine: any AnyFlowMachine,
    at now: Timestamp
  ) -> LiveFlow.Standing {
    let isExpiry = status == .expired
    var message = isExpiry ? "the flow was not finished in time" : "the flow was cancelled"
    // A flow whose outcome is unknown must not look safe to retry.
    let isOutcomeUnknown = machine.isOutcomeUnknown
    if isOutcomeUnknown { message += "; " + machine.unknownOutcomeClause }
    if let kept = machine.grantIfAbandoned { message += "; " + kept.message }
    var next = before
    next.ending = FlowEnding(
      status: status,
      failure: Failure(
        reason: isExpiry ? .expired : .cancelled,
        title: isExpiry ? "Too late" : "Cancelled",
        message: message, retryable: !isOutcomeUnknown,
        provider: machine.providerErrorCode(for: isExpiry ? .expired : .cancelled)),
      handoffSecret: machine.grantIfAbandoned?.handoffSecret)
    next.revision += 1
    next.updatedAt = now
    return next
  }
}

// Events from outside the daemon. They have already happened, so they are retried until stored.
extension FlowRunner {
  private func read(_ event: EngineEvent, _ session: LiveFlow) async {
    let before = session.standing
    guard let machine = before.machine, !before.isFinished else {
      await cleanUp(after: event, session)
      return
    }
    var moved = machine
    var moment = dependencies.moment()
    let answer =
      switch event {
      case .overtaken(let error): overtaken(machine, error)
      case .stateTaken: stateTaken(machine)
      default: moved.receive(event, at: &moment)
      }
    await insist(session) { () throws(UsherError) in
      try await self.apply(answer, moved, before, session, at: moment.now)
    }
  }

  /// Returns the answer for a flow whose credential now belongs to another provider: the flow
  /// cannot continue.
  private func overtaken(_ machine: any AnyFlowMachine, _ error: UsherError) -> EngineAnswer {
    let isOutcomeUnknown = machine.isOutcomeUnknown
    let doubt = isOutcomeUnknown ? "; " + machine.unknownOutcomeClause : ""
    let failure = Failure(
      reason: .providerRejected, title: "Provider changed", message: error.message + doubt,
      retryable: !isOutcomeUnknown, provider: machine.providerErrorCode(for: .providerRejected))
    return .fail(failure, cleanUp: machine.callsIfAbandoned)
  }

  /// Returns the answer for a flow whose redirect state is in use. Only a `params.state` chosen by
  /// the caller can collide; the daemon's own states are random.
  private func stateTaken(_ machine: any AnyFlowMachine) -> EngineAnswer {
    let failure = Failure(
      reason: .invalidRequest, title: "State in use",
      message: "params.state is in use: start another flow with a new random state",
      retryable: true, provider: machine.providerErrorCode(for: .invalidRequest))
    return .fail(failure, cleanUp: machine.callsIfAbandoned)
  }

  /// Undoes the result of a call that succeeded after the flow's end, if the provider supports
  /// that.
  private func cleanUp(after event: EngineEvent, _ session: LiveFlow) async {
    guard case .called(let call, let outcome) = event, let epilogue = session.epilogue else {
      return
    }
    for call in epilogue.cleanUp(call, outcome) {
      if let revocation = revocation(by: call, session, epilogue.provider) {
        await revocations.enqueue(revocation)
      } else {
        effects.tidy(call, epilogue.provider, session)
      }
    }
  }

  private func expire(_ session: LiveFlow) async {
    await insist(session) { () throws(UsherError) in try await self.end(session, as: .expired) }
  }

  /// Retries `body` until the store accepts it or the runner stops; after a stop, the flow repeats
  /// it at the next start. Requests that wait meanwhile are refused with the storage error.
  private func insist(
    _ session: LiveFlow, _ body: () async throws(UsherError) -> Void
  ) async {
    var pause = Duration.milliseconds(200)
    while true {
      do {
        return try await body()
      } catch {
        log.error("\(error.message)", metadata: session.metadata(error))
        guard error.reason == .storageUnavailable, !isStopped.withLock({ $0 }) else { return }
        await dependencies.scheduler.pause(pause)
        for mail in session.takeRequests() { refuse(mail, error) }
        pause = min(pause * 2, .seconds(5))
      }
    }
  }

  private func refuse(_ mail: LiveFlow.Mail, _ error: UsherError) {
    switch mail {
    case .submit(_, _, let reply), .cancel(let reply): reply(.failure(error))
    case .callBack(_, let reply): reply(.failure(error))
    case .event, .expire: break
    }
  }
}

extension LiveFlow {
  fileprivate func metadata(_ error: UsherError) -> Logger.Metadata {
    var metadata = metadata
    if let cause = error.cause { metadata["cause"] = .string(String(describing: cause)) }
    return metadata
  }
}
