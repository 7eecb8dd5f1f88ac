import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem

/// Asks users whether clients may make calls, and remembers the answers (Access.md, "A person
/// agrees"). A call that must be approved first fails at once; the client repeats it later.
final class ConfirmationService: Sendable {
  /// How long a question can be answered after it was asked.
  static let openFor = Duration.seconds(300)
  /// The maximum age, in seconds, of the proof of presence that answering may require.
  static let proofSeconds = 60

  private struct State {
    var repository = ConfirmationStore()
    var timers: [ConfirmationID: ScheduledTimer] = [:]
    /// Whether the store still has an answer that has expired.
    var isStale = false
  }

  private let accounts: AccountRepository
  private let localAuth: LocalAuthService
  private let state = Mutex(State())
  /// Serializes check, write and installation of an answer for each user.
  private let personLock = AsyncKeyedLock<LocalPerson>()

  init(accounts: AccountRepository, localAuth: LocalAuthService) {
    self.accounts = accounts
    self.localAuth = localAuth
  }

  private var dependencies: Dependencies { accounts.dependencies }
  private var store: Store { accounts.store }

  func restore() throws(UsherError) {
    for row in try store.loadConfirmations() {
      let answer = try RememberedAnswer(row)
      // Versions before 0.1.1 ignored the request body in answers about API operations.
      guard answer.question.call.operation == nil else { continue }
      state.withLock { $0.repository.restore(answer) }
    }
  }

  /// Removes expired questions and answers, from memory and from disk; called once a minute.
  func sweep() async throws(UsherError) {
    let now = dependencies.clock.now()
    prune(at: now)
    guard state.withLock({ $0.isStale }) else { return }
    try await store.commit([.forgetConfirmations(expiredBy: now)])
    state.withLock { $0.isStale = false }
  }
}

// MARK: - Asking

extension ConfirmationService {
  /// Returns if a user has agreed to the call, or if it needs no agreement. Never waits for a user.
  ///
  /// Must be the last check of a call: a single-use answer is consumed even if the call fails
  /// later.
  ///
  /// - Parameter start: The flow that the call starts; nil for other calls.
  /// - Throws: `permissionDenied` if a user has refused the call; `interactionRequired` with the
  ///   question if it is not answered yet; `rateLimited` if the user has too many open questions.
  func check(
    _ permit: Permit, _ request: PolicyRequest, _ start: FlowStart? = nil, of caller: Caller
  ) throws(UsherError) {
    guard permit.needsConfirmation, !request.isUnknown else { return }
    let call = ConfirmCall(request, start, of: caller.client)
    if let field = call.tooLongField {
      throw UsherError(
        .invalidParams,
        "\(field) is too long: the texts of a call that needs approval may have at most "
          + "\(ConfirmCall.maxBytes) bytes together",
        field: field)
    }
    let now = dependencies.clock.now()
    let (decision, replaced) = decide(on: call, caller, at: now)
    if let replaced { publishExpiry(replaced) }
    switch decision {
    case .agreed: return
    case .refused:
      throw UsherError(
        .permissionDenied,
        "a person has refused this call of \(request.method); to withdraw the refusal, see: "
          + "usherctl confirm list")
    case .asked(let question, let isNew):
      if isNew { publish("asked", question) }
      // The client may repeat the call later.
      throw UsherError(
        .interactionRequired, "a person must approve this call first",
        detail: .init(confirmation: question.id, retryable: true))
    case .full(let end):
      throw UsherError(
        .rateLimited,
        "\(dependencies.config.limits.openConfirmationsPerUser) calls of this user await approval; "
          + "answer some: usherctl confirm",
        detail: .init(
          retryAfterMs: Int(max(end - now, .zero).milliseconds),
          limit: "open_confirmations_per_user"))
    }
  }

  /// Decides about a call and opens a question if needed, both under one lock.
  ///
  /// - Returns: The decision, and an expired question that the new question has replaced.
  private func decide(
    on call: ConfirmCall, _ caller: Caller, at now: Timestamp
  ) -> (ConfirmationStore.Decision, OpenQuestion?) {
    let limit = dependencies.config.limits.openConfirmationsPerUser
    let users = dependencies.subordinates.current
    return state.withLock { state in
      let (decision, replaced) = state.repository.decide(
        on: call, of: caller.person, at: now, limit: limit, users
      ) { question(call, caller, at: now) }
      if case .asked(let question, isNew: true) = decision {
        state.timers[question.id] = dependencies.scheduler.after(Self.openFor) { [weak self] in
          self?.timeIsOver(question)
        }
      }
      return (decision, replaced)
    }
  }

  private func question(_ call: ConfirmCall, _ caller: Caller, at now: Timestamp) -> OpenQuestion {
    OpenQuestion(
      id: ConfirmationID(dependencies.identifier("cnf_")), realm: caller.person.realm,
      uid: caller.uid,
      unit: caller.audited.unit, executable: caller.audited.executable, call: call, askedAt: now,
      expiresAt: now + Self.openFor)
  }

  private func timeIsOver(_ question: OpenQuestion) {
    guard state.withLock({ $0.repository.expire(question) }) != nil else { return }
    publishExpiry(question)
  }

  private func prune(at now: Timestamp) {
    let expired = state.withLock { state in
      let (expired, isStale) = state.repository.prune(at: now)
      state.isStale = state.isStale || isStale
      return expired
    }
    for question in expired { publishExpiry(question) }
  }

  private func publishExpiry(_ question: OpenQuestion) {
    drop(question)
    publish("expired", question)
  }

  private func drop(_ question: OpenQuestion) {
    state.withLock { $0.timers.removeValue(forKey: question.id) }?.cancel()
  }

  private func publish(_ what: String, _ question: OpenQuestion) {
    let call = question.call
    let event = Event(
      topic: .confirm, what: what, at: dependencies.clock.now(),
      provider: call.provider.map { ProviderName($0) }, kind: call.kind,
      account: call.account.map { AccountID($0) }, confirmation: question.id, client: call.client)
    accounts.events.publish(event, owner: nil, question: question)
  }
}

// MARK: - Answering

extension ConfirmationService {
  func list(_ caller: Caller) async -> ConfirmList.Reply {
    let now = dependencies.clock.now()
    prune(at: now)
    let (questions, answers) = state.withLock { state in
      (state.repository.questions(at: now), state.repository.answers(at: now))
    }
    let visible = questions.filter { caller.right(over: $0) != nil }
    let known = answers.filter { caller.right(over: $0.question) != nil }
    let uids = Set((visible + known.map(\.question)).map(\.uid))
    let names = await dependencies.lookups.names(of: uids)
    return .init(
      questions: visible.map { question in
        Confirmation(
          id: question.id, asker: question.asker(named: names[question.uid]),
          about: about(question.call), askedAt: question.askedAt, expiresAt: question.expiresAt)
      },
      answers: known.map { answer in
        Confirmation.Answer(
          id: answer.question.id, asker: answer.question.asker(named: names[answer.question.uid]),
          about: about(answer.question.call), allow: answer.allow, remember: answer.remember,
          answeredAt: answer.at, answeredBy: .init(client: answer.client, uid: answer.uid),
          expiresAt: answer.expiresAt)
      })
  }

  func answer(_ call: ConfirmAnswer, _ caller: Caller) async throws(UsherError) -> Done {
    let question = try open(call.confirmation, caller)
    let remember = call.remember ?? .once
    guard question.call.operation == nil || remember == .once else {
      throw UsherError(
        .invalidParams,
        "remember must be \"once\": the question is about one operation", field: "remember")
    }
    return try await personLock.withLock(question.person) { () throws(UsherError) in
      // Another caller may have answered meanwhile.
      let question = try open(call.confirmation, caller)
      let answer = RememberedAnswer(
        question: question, allow: call.allow, remember: remember,
        at: dependencies.clock.now(), client: caller.isAdmin ? "(admin)" : caller.client,
        uid: caller.uid)
      let before = try checkLimit(for: answer)
      if let row = try answer.row() {
        try await store.commit([.putConfirmation(row)])
      } else if let before, before.isStored {
        try await store.commit([try before.deletion()])
      }
      state.withLock { $0.repository.record(answer) }
      drop(question)
      publish("answered", question)
      return Done()
    }
  }

  func forget(_ call: ConfirmForget, _ caller: Caller) async throws(UsherError) -> Done {
    let answer = try rememberedAnswer(call.answer, caller)
    return try await personLock.withLock(answer.question.person) { () throws(UsherError) in
      let answer = try rememberedAnswer(call.answer, caller)
      if answer.isStored { try await store.commit([try answer.deletion()]) }
      guard state.withLock({ $0.repository.remove(answer) }) else { throw Self.noAnswer }
      publish("forgotten", answer.question)
      return Done()
    }
  }

  /// Deletes all questions and answers of a user.
  func deleteAll(of person: LocalPerson) async throws(UsherError) {
    try await personLock.withLock(person) { () throws(UsherError) in
      let (open, stored) = state.withLock { $0.repository.removeAll(of: person) }
      for question in open { drop(question) }
      var changes: [Change] = []
      for answer in stored { changes.append(try answer.deletion()) }
      try await store.commit(changes)
    }
  }

  /// Checks the limit of remembered answers for the user of the question.
  ///
  /// - Returns: The earlier answer to the same call, which the new answer replaces, if any.
  private func checkLimit(for answer: RememberedAnswer) throws(UsherError) -> RememberedAnswer? {
    prune(at: answer.at)
    let (call, person) = (answer.question.call, answer.question.person)
    let limit = dependencies.config.limits.rememberedConfirmationsPerUser
    let users = dependencies.subordinates.current
    let (count, before) = state.withLock { state in
      (
        state.repository.answers(of: person, otherThan: call, users),
        state.repository.answer(to: call, of: person)
      )
    }
    guard count < limit else {
      throw UsherError(
        .rateLimited,
        "\(limit) answers are remembered for this user; withdraw some: usherctl confirm forget",
        limit: "remembered_confirmations_per_user")
    }
    return before
  }

  /// Returns an open question that the caller may answer now.
  ///
  /// - Throws: `notFound` if there is no such question for the caller, `conflict` if it was
  ///   answered, or `interactionRequired` with the flow that proves the user's presence.
  private func open(_ id: ConfirmationID, _ caller: Caller) throws(UsherError) -> OpenQuestion {
    let now = dependencies.clock.now()
    let question: OpenQuestion
    switch state.withLock({ $0.repository.find(id, at: now) }) {
    case nil: throw Self.noQuestion
    case .answered(let answered):
      guard caller.right(over: answered) != nil else { throw Self.noQuestion }
      throw UsherError(.conflict, "question \(id) was already answered", field: "confirmation")
    case .open(let open): question = open
    }
    guard let right = caller.right(over: question) else { throw Self.noQuestion }
    try prove(right, caller)
    return question
  }

  private func rememberedAnswer(_ id: ConfirmationID, _ caller: Caller) throws(UsherError)
    -> RememberedAnswer
  {
    let now = dependencies.clock.now()
    guard let answer = state.withLock({ $0.repository.answer(id, at: now) }),
      let right = caller.right(over: answer.question)
    else { throw Self.noAnswer }
    try prove(right, caller)
    return answer
  }

  private func prove(_ right: ConfirmRight, _ caller: Caller) throws(UsherError) {
    switch right {
    case .unconditional: return
    case .withProof: try localAuth.check(within: Self.proofSeconds, of: caller)
    }
  }

  private static var noQuestion: UsherError {
    UsherError(
      .notFound,
      "the confirmation question does not exist or has expired; see: usherctl confirm list",
      field: "confirmation")
  }

  private static var noAnswer: UsherError {
    UsherError(
      .notFound,
      "no remembered answer has this id; it may have expired; see: usherctl confirm list",
      field: "answer")
  }
}

// MARK: - Display

extension ConfirmationService {
  private func about(_ call: ConfirmCall) -> Confirmation.About {
    let account = call.account.map { AccountID($0) }
    return .init(
      method: call.method, provider: call.provider.map { ProviderName($0) }, kind: call.kind,
      account: account, label: account.flatMap { accounts.record($0)?.details.label },
      scope: call.scope, audience: call.audience, target: call.target, operation: call.operation,
      bodyDigest: call.bodyDigest, summary: call.summary, amount: call.amount, payee: call.payee)
  }
}

extension OpenQuestion {
  fileprivate func asker(named user: String?) -> Confirmation.Asker {
    .init(client: call.client, uid: uid, user: user, unit: unit, executable: executable)
  }
}
