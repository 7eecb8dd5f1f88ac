import FoundationEssentials
import UsherClient

/// A provider of the daemon, and the client that calls the daemon.
struct ProviderClient: Sendable {
  let name: ProviderName
  let client: UsherClient

  /// Creates a client without calling the daemon.
  ///
  /// - Parameter socketPath: The daemon's socket; nil finds it as `UsherClient` does.
  init(_ name: String, socketPath: String?) {
    self.name = ProviderName(name)
    client = UsherClient(socketPath: socketPath, name: "UsherKit")
  }

  /// Returns whether both clients call the same provider at the same daemon.
  func isSame(as other: ProviderClient) -> Bool {
    name == other.name && client.socketPath == other.client.socketPath
  }
}

// MARK: - Flows

// Flows are looked up at the daemon and not remembered by the process: another process may have
// started them, and they survive restarts of the daemon.

extension ProviderClient {
  /// Starts a flow as `UsherClient.flow(provider:kind:params:requestId:)` does.
  ///
  /// - Parameter onDoubt: Called if the start is sent again although an earlier attempt may have
  ///   started the flow.
  func start(
    _ kind: String, _ params: JSONValue, requestId: String? = nil, onDoubt: () -> Void = {}
  ) async throws -> FlowSession {
    try await client.flow(
      provider: name.rawValue, kind: kind, params: params, requestId: requestId, onDoubt: onDoubt)
  }

  /// Starts a flow as ``start(_:_:requestId:)`` does. Cancelling the task does not interrupt this.
  func begin(_ kind: String, _ params: JSONValue) async throws -> FlowSession {
    try await client.beginFlow(provider: name.rawValue, kind: kind, params: params)
  }

  /// Returns the caller's flows of a kind at the provider, newest first, without their steps.
  ///
  /// - Parameter status: The status to select. Nil also selects flows that ended within the last
  ///   day.
  private func flows(
    _ kind: String, key: String? = nil, status: FlowStatus? = .active
  ) async throws -> [Flow] {
    try await client.call(FlowList(provider: name, kind: kind, key: key, status: status)).flows
  }

  /// Returns the newest of the caller's flows of a kind that matches; nil if there is none.
  func newestFlow(
    _ kind: String, key: String? = nil, status: FlowStatus? = .active,
    where fits: (Flow) -> Bool = { _ in true }
  ) async throws -> FlowSession? {
    for flow in try await flows(kind, key: key, status: status) {
      let session = try await client.session(of: flow.id)
      if fits(session.flow) { return session }
    }
    return nil
  }

  /// Submits the URL of a redirect to the caller's active flows of a kind until one accepts it.
  ///
  /// - Returns: The flow that accepted the URL; nil if none did. A flow refuses the redirect of
  ///   another one.
  func submitRedirect(_ url: URL, to kind: String) async throws -> FlowSession? {
    let redirect = FlowInput.redirect(url: Secret(url.absoluteString))
    for flow in try await flows(kind) {
      let session = try await client.session(of: flow.id)
      let seen = session.flow
      guard case .openURL(let page)? = seen.step, page.completes != .poll else { continue }
      do {
        try await session.submitOnce(redirect, answering: seen)
        return session
      } catch let error as UsherError
        where [.invalidInput, .conflict, .flowFinished, .unexpectedInput].contains(error.reason)
      {
        continue
      }
    }
    return nil
  }
}
