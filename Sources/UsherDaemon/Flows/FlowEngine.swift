import JSONRPC
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// Starts flows, finds them and passes callers' requests to them.
///
/// A flow is looked up by its id and its owner together. Another owner's flow takes the same path
/// as an unknown id and is reported as `notFound`.
final class FlowEngine: Sendable {
  let dependencies: Dependencies
  let store: Store
  let providers: Providers
  let credentials: Credentials
  let accounts: AccountRepository
  let events: EventBus
  let runner: FlowRunner
  let starts = RateLimiter()
  /// The schema of each machine's params; each is derived once.
  let schemas = Mutex<[ObjectIdentifier: Schema]>([:])
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

  func flow(_ id: FlowID, of owner: Owner) throws(UsherError) -> LiveFlow {
    guard let session = index.session(id, of: owner) else {
      throw UsherError(.notFound, "flow \(id) does not exist")
    }
    return session
  }

  /// Returns the matching flows of an owner, newest first.
  func flows(of owner: Owner, where matches: (LiveFlow) -> Bool) -> [LiveFlow] {
    index.sessions(of: owner)
      .filter(matches)
      .sorted { ($0.createdAt, $0.id.rawValue) > ($1.createdAt, $1.id.rawValue) }
  }

  func liveCount(of owner: Owner?) -> Int {
    index.liveCount(of: owner)
  }
}

// Moving a flow.
extension FlowEngine {
  /// Submits input to a flow and waits until it is processed.
  ///
  /// - Throws: `permissionDenied` if another client started the flow; also errors of the flow.
  func submit(
    _ call: FlowSubmit, owner: Owner, client: String
  ) async throws(UsherError) -> LiveFlow {
    let session = try flow(call.flow, of: owner)
    guard session.isOpen(to: client) else {
      throw UsherError(
        .permissionDenied,
        "only the client that started flow \(session.id) may answer it",
        detail: .init(flow: session.id))
    }
    let input = try FlowInput(call.input)
    try await ask(session) { .submit(input, revision: call.revision, reply: $0) }
    return session
  }

  /// Cancels an active flow; a finished flow stays as it is.
  func cancel(_ id: FlowID, owner: Owner) async throws(UsherError) -> LiveFlow {
    let session = try flow(id, of: owner)
    try await ask(session) { .cancel(reply: $0) }
    return session
  }

  /// Passes a provider's callback to a flow.
  ///
  /// - Throws: `storageUnavailable` or `shuttingDown`; the callback was not accepted then.
  func callBack(
    _ callback: ProviderCallback, _ session: LiveFlow
  ) async throws(UsherError) -> CallbackVerdict {
    try await ask(session) { .callBack(callback, reply: $0) }
  }

  /// Returns the live flows with a request id, across all owners; for provider callbacks.
  func liveFlows(at provider: ProviderName, requestID: String) -> [LiveFlow] {
    index.live(at: provider, requestID: requestID)
  }

  /// Whether a flow with this request id was started and the id is still remembered.
  func isRemembered(_ requestID: String, at provider: ProviderName) throws(UsherError) -> Bool {
    try store.isRemembered(requestID, at: provider)
  }

  private func ask<Value: Sendable>(
    _ session: LiveFlow,
    _ mail: (@escaping @Sendable (Result<Value, UsherError>) -> Void) -> LiveFlow.Mail
  ) async throws(UsherError) -> Value {
    let result: Result<Value, UsherError> = await withCheckedContinuation { continuation in
      runner.deliver(mail { continuation.resume(returning: $0) }, to: session)
    }
    return try result.get()
  }
}
