import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// All flows, and what callers may do with them.
///
/// A flow is found by its id and its owner together: what is not the caller's is not found, by the
/// same path as what does not exist.
final class FlowEngine: Sendable {
  let world: World
  let store: Store
  let providers: Providers
  let credentials: Credentials
  let accounts: AccountBook
  let events: EventBus
  let runner: FlowRunner
  private let starts = CallBudget()
  private let index = FlowIndex()

  init(
    world: World, store: Store, providers: Providers, credentials: Credentials,
    accounts: AccountBook, events: EventBus, runner: FlowRunner
  ) {
    self.world = world
    self.store = store
    self.providers = providers
    self.credentials = credentials
    self.accounts = accounts
    self.events = events
    self.runner = runner
  }

  func flow(_ id: FlowID, of owner: Owner) throws(UsherError) -> FlowSession {
    guard let session = index.session(id), session.owner == owner else {
      throw UsherError(.notFound, "there is no flow \(id)")
    }
    return session
  }

  /// Newest first.
  func flows(of owner: Owner, where matches: (FlowSession) -> Bool) -> [FlowSession] {
    index.sessions(of: owner)
      .filter(matches)
      .sorted { ($0.createdAt, $0.id.rawValue) > ($1.createdAt, $1.id.rawValue) }
  }

  func liveCount(of owner: Owner?) -> Int {
    let sessions = owner.map { index.sessions(of: $0) } ?? index.all
    return sessions.count { !$0.standing.isFinished }
  }

  /// Begins a flow: durable before it is answered, its first effects under way.
  ///
  /// - Parameter place: From ``admit(_:)``.
  func start(
    _ call: FlowStart, owner: Owner, client: FlowClient, in place: FlowPlace,
    seeing isSeen: (AccountRecord) -> Bool = { _ in true }
  ) async throws(UsherError) -> FlowSession {
    defer { place.release() }
    let seen = accounts.accounts(of: owner).filter(isSeen)
    return try await begin(call, owner, client, seeing: seen, in: place)
  }

  private func begin(
    _ call: FlowStart, _ owner: Owner, _ client: FlowClient, seeing seen: [AccountRecord],
    in place: FlowPlace
  ) async throws(UsherError) -> FlowSession {
    let provider = try providers.named(call.provider)
    guard let type = ProviderRegistry.flow(call.kind, of: provider.settings.variety) else {
      throw UsherError(
        .invalidParams, "provider \(call.provider) has no flow of kind \(call.kind)",
        detail: .init(field: "kind"))
    }
    try checkRequestID(call.requestId, judgedByFlow: type.judgesRequestID)
    let record = try knownAccount(call, type, among: seen, for: client)
    let known = seen.filter { $0.provider == provider.name }
    let moment = world.moment()
    let id = FlowID(world.identifier("flw_"))
    let origin = FlowOrigin(
      provider: provider, account: record.map { KnownAccount($0) },
      requestID: call.requestId ?? id.rawValue,
      statedRequestID: call.requestId, endsAt: end(of: moment.now),
      installationID: store.installationID(of: owner, provider: provider.name),
      credential: CredentialCheck(
        (try? credentials.credential(of: provider)) ?? nil,
        named: credentials.named(of: provider)),
      accounts: known.map {
        NamedAccount(id: $0.id, subject: $0.subject, label: $0.details.label)
      }, client: client.title, attributes: record?.details.attributes ?? [:],
      keepsakes: keepsakes(call.provider, owner, client, at: moment.now))
    let (machine, answer) = try begin(type, call.params, origin, moment)
    let session = newSession(
      id, call, owner: owner, client: client, machine: machine, at: moment.now)
    try await runner.open(session, with: objection(to: provider, type) ?? answer, at: moment) {
      place.occupy(session)
    }
    return session
  }

  private func keepsakes(
    _ provider: ProviderName, _ owner: Owner, _ client: FlowClient, at now: Timestamp
  ) -> [Keepsake] {
    index.sessions(of: owner).compactMap { session in
      guard session.provider == provider, session.client == client.name else { return nil }
      return session.standing.ending.keepsake.flatMap { $0.expiresAt > now ? $0 : nil }
    }
  }

  /// What cannot end well is not begun with a person: a credential that is not set ends the flow at
  /// once, in the words that say how to set it.
  private func objection(
    to provider: ProviderConfig, _ type: any FlowMachine.Type
  ) -> EngineAnswer? {
    do throws(UsherError) {
      _ = try credentials.credential(of: provider)
      return nil
    } catch {
      var failure = Failure.rejected(error.message)
      failure.provider = type.word(for: .providerRejected, provider: provider.name)
      return .fail(failure, clearUp: [])
    }
  }

  private func begin<Machine: FlowMachine>(
    _ type: Machine.Type, _ params: JSONValue, _ origin: FlowOrigin, _ moment: Moment
  ) throws(UsherError) -> (any AnyMachine, EngineAnswer) {
    let schema = StrictDecoding.schema(of: Machine.Params.self)
    let decoded = try StrictDecoding.decode(
      Machine.Params.self, from: params, schema: schema, prefix: "params")
    var moment = moment
    let (machine, answer) = try Machine.begin(decoded, origin, at: &moment)
    return (MachineBox(machine: machine), MachineBox<Machine>.erased(answer))
  }

  private func newSession(
    _ id: FlowID, _ call: FlowStart, owner: Owner, client: FlowClient, machine: any AnyMachine,
    at now: Timestamp
  ) -> FlowSession {
    // A blank one, or one that cannot be, is no id that anybody could mean again.
    let requestID = call.requestId.flatMap { id in
      Self.isRequestID(id) && !id.allSatisfy(\.isWhitespace) ? id : nil
    }
    return FlowSession(
      id: id, owner: owner, provider: call.provider, kind: call.kind, client: client.name,
      uid: client.uid, credentials: credentials.tags(of: machine.provider),
      requestID: requestID, createdAt: now,
      standing: .init(
        machine: machine, view: machine.view, ending: .active, revision: 1, updatedAt: now,
        expiresAt: end(of: now)),
      transitions: [Transition(revision: 1, state: machine.view.state, at: now)])
  }

  /// When a flow that begins now expires.
  private func end(of beginning: Timestamp) -> Timestamp {
    beginning + .seconds(world.config.flow.deadlineSeconds)
  }

  /// Keeps a place for a flow, so that starting many at once is no way past the limit: quickly, for
  /// one that is refused is so on the event loop, before anything is done for it.
  ///
  /// - Throws: `rateLimited` naming the limit.
  func admit(_ owner: Owner) throws(UsherError) -> FlowPlace {
    let limits = world.config.limits
    let wait = starts.take(
      owner, at: world.clock.now(), perMinute: limits.flowStartsPerMinute)
    if let wait {
      throw UsherError(
        .rateLimited, "this user has started \(limits.flowStartsPerMinute) flows within a minute",
        detail: .init(retryAfterMs: Int(wait.milliseconds), limit: "flow_starts_per_minute"))
    }
    guard let place = FlowPlace(index, for: owner, atMost: limits.liveFlowsPerUser) else {
      throw UsherError(
        .rateLimited, "this user has \(limits.liveFlowsPerUser) live flows already",
        detail: .init(limit: "live_flows_per_user"))
    }
    return place
  }

  private static func isRequestID(_ id: String) -> Bool { (1...128).contains(id.utf8.count) }

  /// - Parameter judgedByFlow: Whether one that cannot be is for the flow to report.
  private func checkRequestID(_ id: String?, judgedByFlow: Bool) throws(UsherError) {
    guard let id else { return }
    guard Self.isRequestID(id) || judgedByFlow else {
      throw UsherError(
        .invalidParams, "requestId must have 1 to 128 bytes", detail: .init(field: "requestId"))
    }
  }

  private func knownAccount(
    _ call: FlowStart, _ type: any FlowMachine.Type, among seen: [AccountRecord],
    for client: FlowClient
  ) throws(UsherError) -> AccountRecord? {
    let named = try namedAccount(call, among: seen)
    guard type.needsAccount else { return named }
    let record =
      if let named {
        named
      } else {
        try accounts.onlyAccount(
          among: seen.filter { $0.provider == call.provider }, at: call.provider,
          field: "params.account")
      }
    // It acts with the account's token: who may not have that may not have it used either.
    let mayAct =
      !record.isGuarded
      || record.opens(
        scope: record.details.grant.scope, to: client.name, at: world.clock.now())
    guard mayAct else {
      throw UsherError(
        .consentRequired, "you were not granted all that the account's token gives access to",
        detail: .init(
          field: "params.account",
          next: world.signIn(
            at: call.provider, account: record.id, scope: record.details.grant.scope)))
    }
    return record
  }

  private func namedAccount(
    _ call: FlowStart, among seen: [AccountRecord]
  ) throws(UsherError) -> AccountRecord? {
    guard let id = call.params["account"]?.stringValue else { return nil }
    guard let record = seen.first(where: { $0.id.rawValue == id }) else {
      throw AccountBook.notFound(AccountID(id))
    }
    guard record.provider == call.provider else {
      throw UsherError(
        .invalidParams, "account \(id) is not of provider \(call.provider)",
        detail: .init(field: "params.account"))
    }
    return record
  }
}

extension KnownAccount {
  fileprivate init(_ record: AccountRecord) {
    self.init(id: record.id, subject: record.subject)
  }
}

// Moving a flow.
extension FlowEngine {
  /// - Throws: `permissionDenied` for another client's flow beside what the flow itself refuses.
  func submit(
    _ call: FlowSubmit, owner: Owner, client: String
  ) async throws(UsherError) -> FlowSession {
    let session = try flow(call.flow, of: owner)
    guard session.isOpen(to: client) else {
      throw UsherError(
        .permissionDenied,
        "flow \(session.id) is answered by the client that started it, and you are another one",
        detail: .init(flow: session.id))
    }
    let input = try FlowInput(call.input)
    try await ask(session) { .submit(input, revision: call.revision, reply: $0) }
    return session
  }

  /// Cancels a flow that has not finished; a finished one is left as it is.
  func cancel(_ id: FlowID, owner: Owner) async throws(UsherError) -> FlowSession {
    let session = try flow(id, of: owner)
    try await ask(session) { .cancel(reply: $0) }
    return session
  }

  /// Hands a provider's call to a flow.
  ///
  /// - Throws: `storageUnavailable`, `shuttingDown`: it has not been taken.
  func callBack(
    _ callback: ProviderCallback, _ session: FlowSession
  ) async throws(UsherError) -> CallbackVerdict {
    try await ask(session) { .callBack(callback, reply: $0) }
  }

  /// Whoever owns them: for a provider's call.
  func liveFlows(at provider: ProviderName, requestID: String) -> [FlowSession] {
    index.all.filter {
      $0.provider == provider && $0.requestID == requestID && !$0.standing.isFinished
    }
  }

  /// Whether somebody has started a flow with this id.
  func isRemembered(_ requestID: String, at provider: ProviderName) throws(UsherError) -> Bool {
    try store.isRemembered(requestID, at: provider)
  }

  private func ask<Value: Sendable>(
    _ session: FlowSession,
    _ mail: (@escaping @Sendable (Result<Value, UsherError>) -> Void) -> FlowSession.Mail
  ) async throws(UsherError) -> Value {
    let result: Result<Value, UsherError> = await withCheckedContinuation { continuation in
      runner.deliver(mail { continuation.resume(returning: $0) }, to: session)
    }
    return try result.get()
  }
}

// Life.
extension FlowEngine {
  /// Brings back what the store kept; nothing runs yet.
  ///
  /// A flow this version cannot read, of a kind it does not know, stays on the disk as it is: the
  /// others go on, and a version that knows it will find it.
  ///
  /// - Returns: What could not be read, with the reason.
  func restore() throws(UsherError) -> [(flow: FlowID, error: UsherError)] {
    let journal = Dictionary(grouping: try store.loadJournal(), by: \.flow)
    var unread: [(FlowID, UsherError)] = []
    for row in try store.loadFlows() {
      let transitions = (journal[row.id] ?? []).map {
        Transition(revision: $0.revision, state: $0.state, at: $0.at)
      }
      do throws(UsherError) {
        index.insert(session(row, try RestoredFlow(row), transitions))
      } catch {
        unread.append((row.id, error))
      }
    }
    return unread
  }

  /// Sets every unfinished flow going again.
  func resumeAll() {
    for session in index.all where !session.standing.isFinished {
      runner.resume(session)
    }
  }

  /// Lets go of listeners and alarms; what is on disk goes on with the next start.
  func pauseAll() {
    runner.stop()
    for session in index.all { runner.pause(session) }
  }

  /// Whether no flow is at its mail.
  var isIdle: Bool { index.all.allSatisfy(\.isIdle) }

  private func session(
    _ row: FlowRow, _ flow: RestoredFlow, _ transitions: [Transition]
  ) -> FlowSession {
    FlowSession(
      id: row.id, owner: row.owner, provider: row.provider, kind: row.kind, client: flow.client,
      uid: flow.uid, credentials: flow.credentials ?? CredentialTags(), requestID: row.requestID,
      createdAt: row.createdAt,
      standing: .init(
        machine: flow.machine,
        view: flow.machine?.view ?? FlowView(state: flow.state, step: .wait(.init(for: ""))),
        ending: flow.ending, revision: row.revision, updatedAt: row.updatedAt,
        expiresAt: row.expiresAt),
      transitions: transitions)
  }

  /// Forgets flows that ended long ago, and requestIds past their time.
  func sweep() async throws(UsherError) {
    let now = world.clock.now()
    let keep = Duration.seconds(world.config.limits.finishedFlowHours * 3600)
    let old = index.all.filter {
      let standing = $0.standing
      return standing.isFinished && standing.updatedAt + keep <= now
    }
    try await store.commit(old.map { .deleteFlow($0.id) } + [.forgetRequests(expiredBy: now)])
    for session in old { index.remove(session) }
  }
}
