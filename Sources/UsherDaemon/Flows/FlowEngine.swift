import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// Runs flows: starts and finds them, passes requests and events to their state machines, stores
/// each decision, then carries it out.
///
/// State, revision and journal row are on disk before an effect runs and before a caller is
/// answered. The events of one flow are processed one at a time, in the order of arrival; flows do
/// not wait for each other.
///
/// A flow is looked up by its id and its owner together. Another owner's flow takes the same path
/// as an unknown id and is reported as `notFound`.
final class FlowEngine: Sendable {
  let credentials: Credentials
  let accounts: AccountRepository
  let revocations: RevocationQueue
  /// Whether access to an owner's objects is refused (see ``OwnerRow``): its flows send nothing.
  let isWithheld: @Sendable (Owner) -> Bool
  /// The flows in memory.
  let index = FlowIndex()
  let metadataPool = FlowMetadataPool()
  /// The rows of the flows: plans and commits them, and reads them at a start.
  let repository: FlowRepository
  let effects: EffectRunner
  let deadlines: FlowDeadlines
  let hibernator = FlowHibernator()
  let starts = RateLimiter()
  /// The schema of the parameters of each machine type, derived when it is first used.
  let schemas = Mutex<[ObjectIdentifier: Schema]>([:])
  private let isStopped = Atomic(false)

  init(
    credentials: Credentials, accounts: AccountRepository, effects: EffectRunner,
    revocations: RevocationQueue, isWithheld: @escaping @Sendable (Owner) -> Bool = { _ in false }
  ) {
    self.credentials = credentials
    self.accounts = accounts
    self.effects = effects
    self.revocations = revocations
    self.isWithheld = isWithheld
    let coder = FlowCoder(nonce: accounts.dependencies.identifier("provider_"))
    repository = FlowRepository(accounts: accounts, coder: coder, metadataPool: metadataPool)
    deadlines = FlowDeadlines(accounts.dependencies)
    deadlines.onExpiry { [weak self] in self?.deliver(.event(.expired), to: $0) }
  }

  var dependencies: Dependencies { accounts.dependencies }
  var store: Store { accounts.store }
  var events: EventBus { accounts.events }

  func flow(_ id: FlowID, of owner: Owner) throws(UsherError) -> LiveFlow {
    guard let flow = index.flow(id, of: owner) else {
      throw UsherError(.notFound, "flow \(id) does not exist")
    }
    return flow
  }

  /// Returns the matching flows of an owner, newest first.
  func flows(of owner: Owner, where matches: (LiveFlow) -> Bool) -> [LiveFlow] {
    index.flows(of: owner)
      .filter(matches)
      .sorted { ($0.createdAt, $0.id.rawValue) > ($1.createdAt, $1.id.rawValue) }
  }
}

// Requests of RPC callers and provider callbacks.
extension FlowEngine {
  /// Submits input to a flow and waits until the flow has processed the input.
  ///
  /// - Throws: `permissionDenied` if another client started the flow; also the errors of the flow.
  func submit(
    _ call: FlowSubmit, owner: Owner, client: String
  ) async throws(UsherError) -> LiveFlow {
    let flow = try flow(call.flow, of: owner)
    guard flow.isOpen(to: client) else {
      throw UsherError(
        .permissionDenied, "only the client that started flow \(flow.id) may answer it",
        detail: .init(flow: flow.id))
    }
    try await perform(.submit(try FlowInput(call.input), revision: call.revision), flow)
    return flow
  }

  /// Cancels an active flow. A finished flow is returned unchanged.
  func cancel(_ id: FlowID, owner: Owner) async throws(UsherError) -> LiveFlow {
    let flow = try flow(id, of: owner)
    try await perform(.cancel, flow)
    return flow
  }

  /// Passes a provider's callback to the live flows, of any owner, that have its request id.
  ///
  /// - Throws: `storageUnavailable` or `shuttingDown`; the callback was not accepted then.
  func handleCallback(
    _ callback: ProviderCallback, at provider: ProviderName
  ) async throws(UsherError) -> [CallbackVerdict] {
    var verdicts: [CallbackVerdict] = []
    for flow in callback.requestID.map({ index.live(at: provider, requestID: $0) }) ?? [] {
      verdicts.append(try await perform(.callback(callback), flow))
    }
    return verdicts
  }

  @discardableResult
  private func perform(
    _ request: LiveFlow.Request, _ flow: LiveFlow
  ) async throws(UsherError) -> CallbackVerdict {
    let result: Result<CallbackVerdict, UsherError> = await withCheckedContinuation { waiting in
      deliver(.request(request) { waiting.resume(returning: $0) }, to: flow)
    }
    return try result.get()
  }
}

// Delivery of events and requests, which are called mail, to the flows' mailboxes.
extension FlowEngine {
  /// Posts an event or a request to a flow, and starts a task to process it if none is running.
  func deliver(_ mail: LiveFlow.Mail, to flow: LiveFlow) {
    guard isRunning else {
      mail.reply?(.failure(UsherError(.shuttingDown, "usherd is stopping")))
      return
    }
    effects.work.begin()
    guard flow.post(mail) else { return effects.work.end() }
    Task(executorPreference: dependencies.executor) { [self] in await drain(flow) }
  }

  /// Resumes a flow that was restored from the store, unless an event or request for the flow has
  /// already done so. Returns when the flow has processed its mailbox.
  func resumeOnce(_ flow: LiveFlow) async {
    guard isRunning else { return }
    effects.work.begin()
    guard flow.post(nil) else { return effects.work.end() }
    await drain(flow)
  }

  private func drain(_ flow: LiveFlow) async {
    while let mail = flow.nextMail() {
      await Cause.$correlation.withValue(mail.cause) { await process(mail, flow) }
    }
    effects.work.end()
  }

  /// Whether no flow is processing mail or waits for a provider's reply.
  var isIdle: Bool { effects.work.isIdle }

  /// Returns when ``isIdle`` is true, or at once if the task is cancelled.
  func waitUntilIdle() async { await effects.work.waitUntilIdle() }

  /// Whether events and requests are accepted: ``stop()`` was not called.
  var isRunning: Bool { !isStopped.load(ordering: .acquiring) }

  /// Stops processing events and requests. At the next start, each flow gets `.resumed` and repeats
  /// its effects.
  func stop() {
    isStopped.store(true, ordering: .releasing)
    deadlines.stop()
    effects.stop()
  }
}
