import JSONRPC
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// All flows, and what callers may do with them.
///
/// A flow is found by its id and its owner together: what is not the caller's is not found, by the
/// same path as what does not exist.
final class FlowEngine: Sendable {
  let dependencies: Dependencies
  let store: Store
  let providers: Providers
  let credentials: Credentials
  let accounts: AccountRepository
  let events: EventBus
  let runner: FlowRunner
  private let starts = RateLimiter()
  /// Of what flows are begun with, each read once.
  private let schemas = Mutex<[ObjectIdentifier: Schema]>([:])
  var index: FlowIndex { runner.index }

  init(
    dependencies: Dependencies, store: Store, providers: Providers, credentials: Credentials,
    accounts: AccountRepository, events: EventBus, runner: FlowRunner
  ) {
    self.dependencies = dependencies
    self.store = store
    self.providers = providers
    self.credentials = credentials
    self.accounts = accounts
    self.events = events
    self.runner = runner
  }

  func flow(_ id: FlowID, of owner: Owner) throws(UsherError) -> FlowSession {
    guard let session = index.session(id, of: owner) else {
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
    index.liveCount(of: owner)
  }

  /// Begins a flow: durable before it is answered, its first effects under way.
  ///
  /// - Parameters:
  ///   - call: Names the account that it acts on: the engine chooses none.
  ///   - place: From ``admit(_:)``.
  ///   - isSeen: Whether a person may choose an account in the flow.
  func start(
    _ call: FlowStart, owner: Owner, client: FlowClient, in place: FlowPlace,
    seeing isSeen: (AccountRecord) -> Bool = { _ in true }
  ) async throws(UsherError) -> FlowSession {
    defer { place.release() }
    return try await begin(call, owner, client, in: place, seeing: isSeen)
  }

  private func begin(
    _ call: FlowStart, _ owner: Owner, _ client: FlowClient, in place: FlowPlace,
    seeing isSeen: (AccountRecord) -> Bool
  ) async throws(UsherError) -> FlowSession {
    let provider = try providers.named(call.provider)
    guard let type = ProviderRegistry.flow(call.kind, of: provider.settings.variety) else {
      throw UsherError(
        .invalidParams, "provider \(call.provider) has no flow of kind \(call.kind)",
        detail: .init(field: "kind"))
    }
    try checkRequestID(call.requestId, judgedByFlow: type.judgesRequestID)
    let record = try knownAccount(call, type, of: owner, for: client)
    let known =
      type.knowsAccounts
      ? try accounts.accounts(of: owner, at: provider.name) {
        isSeen($0) && (type.accountUse != .named || mayActWith($0, client))
      } : []
    let moment = dependencies.moment()
    let id = FlowID(dependencies.identifier("flw_"))
    let left = left(at: call.provider, to: owner, client.name, at: moment.now)
    var origin = FlowContext(
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
      handoffSecrets: left.map(\.handoffSecret))
    for record in known { origin.accountAttributes[record.id] = record.details.attributes }
    let (machine, answer) = try begin(type, call.params, origin, moment)
    if case .proceed(let effects) = answer, effects.contains(where: runner.effects.isTaken) {
      throw UsherError(
        .invalidParams, "params.state is in use: choose a new random one",
        detail: .init(field: "params.state"))
    }
    let session = newSession(
      id, call, owner: owner, client: client, machine: machine, at: moment.now)
    let giver = try claim(for: machine, of: left)
    do throws(UsherError) {
      try await runner.open(
        session, with: objection(to: provider, type) ?? answer, at: moment, taking: giver
      ) {
        place.occupy(session)
      }
    } catch {
      if let giver { index.giveBack(giver) }
      throw error
    }
    return session
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
    _ type: Machine.Type, _ params: JSONValue, _ origin: FlowContext, _ moment: TransitionContext
  ) throws(UsherError) -> (any AnyFlowMachine, EngineAnswer) {
    let decoded = try StrictDecoding.decode(
      Machine.Params.self, from: params, schema: schema(of: Machine.Params.self),
      prefix: "params")
    var moment = moment
    let (machine, answer) = try Machine.begin(decoded, origin, at: &moment)
    return (FlowMachineBox(machine: machine), FlowMachineBox<Machine>.erased(answer))
  }

  private func schema(of type: any Decodable.Type) -> Schema {
    schemas.withLock { known in
      if let schema = known[ObjectIdentifier(type)] { return schema }
      let schema = StrictDecoding.schema(of: type)
      known[ObjectIdentifier(type)] = schema
      return schema
    }
  }

  private func newSession(
    _ id: FlowID, _ call: FlowStart, owner: Owner, client: FlowClient, machine: any AnyFlowMachine,
    at now: Timestamp
  ) -> FlowSession {
    // A blank one, or one that cannot be, is no id that anybody could mean again.
    let requestID = call.requestId.flatMap { id in
      Self.isRequestID(id) && !id.allSatisfy(\.isWhitespace) ? id : nil
    }
    let family = SharedFlowMetadata(
      owner: owner, provider: call.provider, kind: call.kind, client: client.name,
      uid: client.uid, credentials: credentials.tags(of: machine.provider))
    return FlowSession(
      id: id, family: runner.families.kept(family), requestID: requestID, createdAt: now,
      standing: .init(
        machine: machine, view: machine.view, ending: .active, revision: 1, updatedAt: now,
        expiresAt: end(of: now)),
      transitions: [Transition(revision: 1, state: machine.view.state, at: now)])
  }

  /// When a flow that begins now expires.
  private func end(of beginning: Timestamp) -> Timestamp {
    beginning + .seconds(dependencies.config.flow.deadlineSeconds)
  }

  /// Keeps a place for a flow, so that starting many at once is no way past the limit: quickly, for
  /// one that is refused is so on the event loop, before anything is done for it.
  ///
  /// - Throws: `rateLimited` naming the limit; `overloaded` where no listener could be opened for it.
  func admit(_ owner: Owner) throws(UsherError) -> FlowPlace {
    guard dependencies.descriptors.hasRoom(for: .caller) else { throw DescriptorBudget.exhausted }
    let limits = dependencies.config.limits
    let users = dependencies.subordinates.current
    let wait = starts.take(
      owner.limitHolder(users), at: dependencies.clock.monotonicNow(),
      perMinute: limits.flowStartsPerMinute)
    if let wait {
      throw UsherError(
        .rateLimited, "this user has started \(limits.flowStartsPerMinute) flows within a minute",
        detail: .init(retryAfterMs: Int(wait.milliseconds), limit: "flow_starts_per_minute"))
    }
    guard let place = FlowPlace(index, for: owner, atMost: limits.liveFlowsPerUser, users)
    else {
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
    _ call: FlowStart, _ type: any FlowMachine.Type, of owner: Owner, for client: FlowClient
  ) throws(UsherError) -> AccountRecord? {
    let named = try namedAccount(call, of: owner)
    guard type.usesAccount(isNamed: named != nil) else { return named }
    guard let record = named else {
      throw UsherError(
        .invalidParams, "params.account is missing", detail: .init(field: "params.account"))
    }
    guard mayActWith(record, client) else {
      throw UsherError(
        .consentRequired, "you were not granted all that the account's token gives access to",
        detail: .init(
          field: "params.account",
          next: dependencies.signIn(
            at: call.provider, account: record.id, scope: record.details.grant.scope)))
    }
    return record
  }

  /// A flow that acts with an account's token: a client that may not have the token may not have it used
  /// either.
  private func mayActWith(_ record: AccountRecord, _ client: FlowClient) -> Bool {
    !record.isGuarded
      || record.opens(
        scope: record.details.grant.scope, to: client.name, at: dependencies.clock.now())
  }

  private func namedAccount(
    _ call: FlowStart, of owner: Owner
  ) throws(UsherError) -> AccountRecord? {
    guard let id = call.params["account"]?.stringValue else { return nil }
    let record = try accounts.account(AccountID(id), of: owner)
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
    index.live(at: provider, requestID: requestID)
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
