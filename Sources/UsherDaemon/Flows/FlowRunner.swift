import JSONRPC
import Logging
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
  private let world: World
  private let store: Store
  private let accounts: AccountBook
  private let events: EventBus
  private let effects: EffectRunner
  private let log: Logger

  init(
    world: World, store: Store, accounts: AccountBook, events: EventBus, effects: EffectRunner,
    log: Logger
  ) {
    self.world = world
    self.store = store
    self.accounts = accounts
    self.events = events
    self.effects = effects
    self.log = log
  }

  /// Hands mail to a flow, and sees to it that somebody reads it.
  func deliver(_ mail: FlowSession.Mail, to session: FlowSession) {
    guard session.post(mail) else { return }
    Task {
      while let mail = session.nextMail() { await read(mail, session) }
    }
  }

  /// Writes a new flow, makes it known by `register`, and begins its first effects.
  func open(
    _ session: FlowSession, with answer: EngineAnswer, at moment: Moment, register: () -> Void
  ) async throws(UsherError) {
    let before = session.standing
    guard let machine = before.machine else { return }
    let decision = decide(answer, machine, before, at: moment.now)
    let plan = try plan(decision, session, before)
    let request = session.requestID.map { requestRow(session, $0, at: moment.now) }
    let first: [Change] =
      (request.map { [.rememberRequest($0)] } ?? []) + [
        .putFlow(try row(session, decision.next)),
        .appendJournal(journal(session, before)),
      ]
    // The row stands before its first journal line, the account before its tokens.
    try await store.commit(first + plan.changes)
    register()
    take(decision, plan, session)
    events.publish(.flow("started", session.flow, at: moment.now), owner: session.owner)
  }

  /// Sets a flow going again after a restart.
  func resume(_ session: FlowSession) {
    watchDeadline(session)
    deliver(.event(.resumed), to: session)
  }

  func pause(_ session: FlowSession) {
    session.setAlarm(nil)
    session.setExpiry(nil)
    effects.stopListening(session)
  }

  private func read(_ mail: FlowSession.Mail, _ session: FlowSession) async {
    switch mail {
    case .event(let event): await read(event, session)
    case .submit(let input, let revision, let reply):
      reply(await result { () throws(UsherError) in try await submit(input, revision, session) })
    case .cancel(let reply):
      reply(await result { () throws(UsherError) in try await end(session, as: .cancelled) })
    case .expire: await expire(session)
    }
  }

  private func result(
    _ body: () async throws(UsherError) -> Void
  ) async -> Result<Void, UsherError> {
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
    guard let machine = before.machine, !before.isFinished else {
      throw UsherError(
        .flowFinished, "flow \(session.id) has ended", detail: .init(flow: session.id))
    }
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
    var moment = world.moment()
    let answer = moved.receive(.input(input), at: &moment)
    switch answer {
    case .refuse(let field, let message):
      throw UsherError(
        .invalidInput, message, detail: .init(field: "input.\(field)", flow: session.id))
    case .ignore:
      throw UsherError(
        .unexpectedInput, "the step takes no such input",
        detail: .init(field: "input", flow: session.id))
    case .proceed, .finish, .fail:
      try await apply(answer, moved, before, session, at: moment.now)
    }
  }

  private func end(_ session: FlowSession, as status: FlowStatus) async throws(UsherError) {
    let before = session.standing
    guard let machine = before.machine, !before.isFinished else { return }
    let decision = Decision(
      next: ended(before, status, machine, at: world.clock.now()), effects: [], grant: nil,
      clearUp: [])
    let plan = try plan(decision, session, before)
    try await store.commit(plan.changes)
    take(decision, plan, session)
    events.publish(.flow("finished", session.flow, at: world.clock.now()), owner: session.owner)
  }

  private func ended(
    _ before: FlowSession.Standing, _ status: FlowStatus, _ machine: any AnyMachine,
    at now: Timestamp
  ) -> FlowSession.Standing {
    let isExpiry = status == .expired
    var next = before
    next.ending = FlowEnding(
      status: status,
      failure: Failure(
        reason: isExpiry ? .expired : .cancelled,
        title: isExpiry ? "Too late" : "Cancelled",
        message: isExpiry ? "the flow was not finished in time" : "the flow was cancelled",
        retryable: true, provider: machine.word(for: isExpiry ? .expired : .cancelled)))
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
      clearUp(after: event, session)
      return
    }
    var moved = machine
    var moment = world.moment()
    let answer = moved.receive(event, at: &moment)
    await insist(session) { () throws(UsherError) in
      try await self.apply(answer, moved, before, session, at: moment.now)
    }
  }

  /// A success that comes after the end is dropped, and taken back where the provider allows.
  private func clearUp(after event: EngineEvent, _ session: FlowSession) {
    guard case .called(let call, let outcome) = event, let epilogue = session.epilogue else {
      return
    }
    for call in epilogue.clearUp(call, outcome) { effects.tidy(call, epilogue.provider) }
  }

  private func expire(_ session: FlowSession) async {
    guard session.standing.expiresAt <= world.clock.now() else {
      watchDeadline(session)
      return
    }
    await insist(session) { () throws(UsherError) in try await self.end(session, as: .expired) }
  }

  /// Tries until the disk takes it. People who ask meanwhile are told at once.
  private func insist(
    _ session: FlowSession, _ body: () async throws(UsherError) -> Void
  ) async {
    var pause = Duration.milliseconds(200)
    while true {
      do {
        return try await body()
      } catch {
        log.error("\(error.message)", metadata: session.metadata(error))
        guard error.reason == .storageUnavailable else { return }
        await world.alarms.pause(pause)
        for mail in session.takeRequests() { refuse(mail, error) }
        pause = min(pause * 2, .seconds(5))
      }
    }
  }

  private func refuse(_ mail: FlowSession.Mail, _ error: UsherError) {
    switch mail {
    case .submit(_, _, let reply), .cancel(let reply): reply(.failure(error))
    case .event, .expire: break
    }
  }
}

// From an answer to a durable change.
extension FlowRunner {
  /// What an answer comes to.
  private struct Decision {
    var next: FlowSession.Standing
    var effects: [EngineEffect]
    var grant: AccountGrant?
    var clearUp: [any ProviderCall]
  }

  /// What is written for it, and what becomes of the account.
  private struct Plan {
    var changes: [Change]
    var account: AccountBook.Update?
  }

  private func apply(
    _ answer: EngineAnswer, _ machine: any AnyMachine, _ before: FlowSession.Standing,
    _ session: FlowSession, at now: Timestamp
  ) async throws(UsherError) {
    if case .ignore = answer { return }
    var decision = decide(answer, machine, before, at: now)
    var plan = try plan(decision, session, before)
    do {
      try await store.commit(plan.changes)
    } catch  where error.cause is Conflict {
      // Another flow of the same person finished first: update the account it made.
      decision = decide(answer, machine, before, at: now)
      plan = try self.plan(decision, session, before)
      try await store.commit(plan.changes)
    }
    FailPoint.reach("flow.before-effects")
    take(decision, plan, session)
    if decision.next.revision > before.revision {
      let what = decision.next.isFinished ? "finished" : "moved"
      events.publish(.flow(what, session.flow, at: now), owner: session.owner)
    }
  }

  private func decide(
    _ answer: EngineAnswer, _ machine: any AnyMachine, _ before: FlowSession.Standing,
    at now: Timestamp
  ) -> Decision {
    var decision = Decision(next: before, effects: [], grant: nil, clearUp: [])
    decision.next.machine = machine
    decision.next.view = machine.view
    switch answer {
    case .proceed(let effects): decision.effects = effects
    case .finish(let completion):
      decision.next.ending = FlowEnding(status: .succeeded, result: .object(completion.result))
      decision.grant = completion.grant
    case .fail(let failure, let calls):
      decision.next.ending = FlowEnding(status: .failed, failure: failure)
      decision.clearUp = calls
    case .refuse, .ignore: break
    }
    if decision.next.view != before.view || decision.next.ending != before.ending {
      decision.next.revision += 1
      decision.next.updatedAt = now
    }
    return decision
  }

  private func plan(
    _ decision: Decision, _ session: FlowSession, _ before: FlowSession.Standing
  ) throws(UsherError) -> Plan {
    let next = decision.next
    let isSame =
      next.revision == before.revision
      && next.machine.map { new in before.machine?.isSame(as: new) ?? false } ?? true
    var changes: [Change] = isSame ? [] : [.putFlow(try row(session, next))]
    if next.revision > before.revision { changes.append(.appendJournal(journal(session, next))) }
    let account = try decision.grant.map { grant throws(UsherError) in
      try accounts.update(
        grant, owner: session.owner, provider: session.provider, at: next.updatedAt)
    }
    guard let account else { return Plan(changes: changes, account: nil) }
    var finished = next
    finished.ending = next.ending.naming(account.record.id)
    changes[0] = .putFlow(try row(session, finished))
    return Plan(changes: changes + account.changes, account: account)
  }

  /// Takes over in memory what is on disk, and sets its effects going.
  private func take(_ decision: Decision, _ plan: Plan, _ session: FlowSession) {
    var next = decision.next
    if let account = plan.account {
      accounts.install(account)
      next.ending = next.ending.naming(account.record.id)
    }
    let machine = next.machine
    if next.isFinished {
      next.machine = nil
      session.epilogue = machine?.epilogue
      session.setAlarm(nil)
      session.setExpiry(nil)
      effects.stopListening(session)
    }
    session.install(next)
    if !next.isFinished { watchDeadline(session) }
    guard let machine else { return }
    for call in decision.clearUp { effects.tidy(call, machine.provider) }
    for effect in decision.effects {
      effects.perform(effect, session, machine) { [self] event in
        deliver(.event(event), to: session)
      }
    }
  }

  private func watchDeadline(_ session: FlowSession) {
    let left = session.standing.expiresAt - world.clock.now()
    session.setExpiry(
      world.alarms.after(left) { [self, weak session] in
        guard let session else { return }
        deliver(.expire, to: session)
      })
  }

  private func row(
    _ session: FlowSession, _ standing: FlowSession.Standing
  ) throws(UsherError) -> FlowRow {
    guard let machine = standing.machine else {
      throw UsherError(.internalError, "flow \(session.id) has no machine to store")
    }
    return FlowRow(
      id: session.id, owner: session.owner, provider: session.provider, kind: session.kind,
      status: standing.ending.status.rawValue, revision: standing.revision,
      state: standing.view.state, createdAt: session.createdAt, updatedAt: standing.updatedAt,
      expiresAt: standing.expiresAt, requestID: session.requestID, key: standing.view.key,
      payload: try machine.payload(standing.ending))
  }

  private func journal(_ session: FlowSession, _ standing: FlowSession.Standing) -> JournalRow {
    JournalRow(
      flow: session.id, revision: standing.revision, state: standing.view.state,
      status: standing.ending.status.rawValue, stepType: standing.view.step.kind.rawValue,
      at: standing.updatedAt)
  }

  private func requestRow(
    _ session: FlowSession, _ id: String, at now: Timestamp
  ) -> RequestRow {
    RequestRow(
      owner: session.owner, provider: session.provider, requestID: id, flow: session.id,
      expiresAt: now + .seconds(world.config.limits.requestIdDays * 86_400))
  }
}

extension FlowSession {
  fileprivate func metadata(_ error: UsherError) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "flow": .string(id.rawValue), "provider": .string(provider.rawValue),
    ]
    if let cause = error.cause { metadata["cause"] = .string(String(describing: cause)) }
    return metadata
  }
}

extension FlowEnding {
  /// The same, with the account it brought in its result.
  func naming(_ account: AccountID) -> FlowEnding {
    guard status == .succeeded, case .object(var members)? = result else { return self }
    members["account"] = .string(account.rawValue)
    var named = self
    named.result = .object(members)
    return named
  }
}
