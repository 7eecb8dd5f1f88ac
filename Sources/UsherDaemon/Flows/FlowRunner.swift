import JSONRPC
import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Moves flows: takes an event to a flow's machine, writes what it decided, then does it.
///
/// State, revision and journal row are on disk before an effect runs and before anybody is answered.
/// A flow's events are taken one at a time; flows do not wait for each other.
final class FlowRunner: Sendable {
  let dependencies: Dependencies
  let store: Store
  let accounts: AccountRepository
  let events: EventBus
  let effects: EffectRunner
  let revocations: RevocationQueue
  let log: Logger
  /// Whether nothing that belongs to an owner may be used.
  let isWithheld: @Sendable (Owner) -> Bool
  let index = FlowIndex()
  let coder: FlowCoder
  let rest = FlowHibernator()
  let families = FlowFamilies()
  private let isStopped = Mutex(false)
  /// Flows that are at their mail.
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
    deadlines.tell { [weak self] in self?.deliver(.expire, to: $0) }
  }

  /// Hands mail to a flow, and sees to it that somebody reads it.
  func deliver(_ mail: FlowSession.Mail, to session: FlowSession) {
    guard !isStopped.withLock({ $0 }) else {
      return refuse(mail, UsherError(.shuttingDown, "usherd is stopping"))
    }
    busy.add(1, ordering: .relaxed)
    guard session.post(mail) else { return doneWithMail() }
    Task(executorPreference: dependencies.executor) { [self] in await drain(session) }
  }

  private func doneWithMail() { busy.subtract(1, ordering: .relaxed) }

  private func drain(_ session: FlowSession) async {
    while let letter = session.nextMail() {
      await Cause.$correlation.withValue(letter.cause) { await read(letter.mail, session) }
    }
    doneWithMail()
  }

  /// Whether no flow is at its mail.
  var isIdle: Bool { busy.load(ordering: .relaxed) == 0 }

  /// Writes a new flow, makes it known by `register`, and begins its first effects.
  ///
  /// - Parameter giver: The ended flow whose handoff secret the new one begins with: it has it no longer.
  func open(
    _ session: FlowSession, with answer: EngineAnswer, at moment: TransitionContext,
    taking giver: FlowSession? = nil, register: () -> Void
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
      // The row stands before its first journal line, the account before its tokens.
      try await store.commit(first + plan.changes + (without.map { [$0.change] } ?? []))
      if let giver, let without { giver.install(without.standing) }
      register()
      take(decision, plan, session, announcing: .started)
    }
  }

  /// Sets a flow going again.
  func resume(_ session: FlowSession) {
    deadlines.watch(session)
    deliver(.event(.resumed), to: session)
  }

  /// Sets a flow going again that was read back from the store, unless mail for it has done so.
  ///
  /// - Returns: When that is done.
  func resumeOnce(_ session: FlowSession) async {
    guard !isStopped.withLock({ $0 }) else { return }
    busy.add(1, ordering: .relaxed)
    guard session.postResumption() else { return doneWithMail() }
    await drain(session)
  }

  /// From now on nothing moves: what happens is taken up by `.resumed` at the next start.
  func stop() {
    isStopped.withLock { $0 = true }
    deadlines.stop()
    effects.stop()
  }

  func pause(_ session: FlowSession) {
    session.setTimer(nil)
    effects.letGo(session)
  }

  private func read(_ mail: FlowSession.Mail, _ session: FlowSession) async {
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

// What people ask for: it is done and durable, or refused and nothing has changed.
extension FlowRunner {
  private func submit(
    _ input: FlowInput, _ revision: Int, _ session: FlowSession
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
        "the step is \(before.view.step.kind.rawValue), the input answers \(input.kind.rawValue)",
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
        .unexpectedInput, "the step takes no such input",
        detail: .init(field: "input", flow: session.id))
    case .proceed, .finish, .fail:
      try await apply(answer, moved, before, session, at: moment.now)
    }
    // What came too late has not been taken, though its coming ended the flow.
    if case .fail(let failure, _) = answer, failure.reason == .exchangeTimedOut {
      throw finished(session)
    }
  }

  private func finished(_ session: FlowSession) -> UsherError {
    UsherError(.flowFinished, "flow \(session.id) has ended", detail: .init(flow: session.id))
  }

  /// A provider's call: it is judged and durable before the provider is answered.
  private func callBack(
    _ callback: ProviderCallback, _ session: FlowSession
  ) async throws(UsherError) -> CallbackVerdict {
    let before = session.standing
    guard let machine = before.machine, !before.isFinished else { return .notMine }
    let verdict = machine.judge(callback) { accounts.record($0)?.mainToken }
    guard verdict == .mine else { return verdict }
    var moved = machine
    var moment = dependencies.moment()
    let answer = moved.receive(.calledBack(callback), at: &moment)
    try await apply(answer, moved, before, session, at: moment.now)
    return .mine
  }

  private func end(_ session: FlowSession, as status: FlowStatus) async throws(UsherError) {
    let before = session.standing
    guard let machine = before.machine, !before.isFinished else { return }
    let now = dependencies.clock.now()
    let grant = machine.keptWhenAbandoned?.grant
    let decision = Decision(
      next: ended(before, status, machine, at: now), effects: [], grant: grant, at: now,
      clearUp: machine.abandoned)
    try await inTurn(of: grant, session) { () throws(UsherError) in
      let plan = try plan(decision, session, before)
      try await store.commit(plan.changes)
      take(decision, plan, session, announcing: .finished)
    }
  }

  private func ended(
    _ before: FlowSession.Standing, _ status: FlowStatus, _ machine: any AnyFlowMachine,
    at now: Timestamp
  ) -> FlowSession.Standing {
    let isExpiry = status == .expired
    var message = isExpiry ? "the flow was not finished in time" : "the flow was cancelled"
    // Nobody may take it for something that can simply be done again.
    let isOutcomeUnknown = machine.isOutcomeUnknown
    if isOutcomeUnknown { message += "; " + machine.doubt }
    if let kept = machine.keptWhenAbandoned { message += "; " + kept.message }
    var next = before
    next.ending = FlowEnding(
      status: status,
      failure: Failure(
        reason: isExpiry ? .expired : .cancelled,
        title: isExpiry ? "Too late" : "Cancelled",
        message: message, retryable: !isOutcomeUnknown,
        provider: machine.word(for: isExpiry ? .expired : .cancelled)),
      handoffSecret: machine.keptWhenAbandoned?.handoffSecret)
    next.revision += 1
    next.updatedAt = now
    return next
  }
}

// What the world brings: it has happened, so it must not be lost while the disk refuses.
extension FlowRunner {
  private func read(_ event: EngineEvent, _ session: FlowSession) async {
    let before = session.standing
    guard let machine = before.machine, !before.isFinished else {
      await clearUp(after: event, session)
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

  /// What its calls were to be proved by has become another provider's: nobody can go on.
  private func overtaken(_ machine: any AnyFlowMachine, _ error: UsherError) -> EngineAnswer {
    let isOutcomeUnknown = machine.isOutcomeUnknown
    let doubt = isOutcomeUnknown ? "; " + machine.doubt : ""
    let failure = Failure(
      reason: .providerRejected, title: "Changed meanwhile", message: error.message + doubt,
      retryable: !isOutcomeUnknown, provider: machine.word(for: .providerRejected))
    return .fail(failure, clearUp: machine.abandoned)
  }

  /// Only a state that the caller chose can be that of another flow: ours are random.
  private func stateTaken(_ machine: any AnyFlowMachine) -> EngineAnswer {
    let failure = Failure(
      reason: .invalidRequest, title: "State in use",
      message: "params.state is in use: begin another flow with a new random state",
      retryable: true, provider: machine.word(for: .invalidRequest))
    return .fail(failure, clearUp: machine.abandoned)
  }

  /// A success that comes after the end is dropped, and taken back where the provider allows.
  private func clearUp(after event: EngineEvent, _ session: FlowSession) async {
    guard case .called(let call, let outcome) = event, let epilogue = session.epilogue else {
      return
    }
    for call in epilogue.clearUp(call, outcome) {
      if let revocation = revocation(by: call, session, epilogue.provider) {
        await revocations.enqueue(revocation)
      } else {
        effects.tidy(call, epilogue.provider, session)
      }
    }
  }

  private func expire(_ session: FlowSession) async {
    await insist(session) { () throws(UsherError) in try await self.end(session, as: .expired) }
  }

  /// Tries until the disk takes it, or all stops: then it is taken up at the next start. People who ask meanwhile are told at once.
  private func insist(
    _ session: FlowSession, _ body: () async throws(UsherError) -> Void
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

  private func refuse(_ mail: FlowSession.Mail, _ error: UsherError) {
    switch mail {
    case .submit(_, _, let reply), .cancel(let reply): reply(.failure(error))
    case .callBack(_, let reply): reply(.failure(error))
    case .event, .expire: break
    }
  }
}

extension FlowSession {
  fileprivate func metadata(_ error: UsherError) -> Logger.Metadata {
    var metadata = metadata
    if let cause = error.cause { metadata["cause"] = .string(String(describing: cause)) }
    return metadata
  }
}
