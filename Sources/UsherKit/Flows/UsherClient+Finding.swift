import UsherAPI
import UsherClient
import UsherCore

// Flows are found by asking the daemon, never by what this process remembers: it may be another one
// than the one that began them, and the daemon keeps them over its own restarts.

extension UsherClient {
  /// The caller's flows of a kind, newest first, without their steps.
  ///
  /// - Parameter status: Nil: also those that ended within the last day.
  func flows(
    of provider: ProviderName, kind: String, key: String? = nil, status: FlowStatus? = .active
  ) async throws -> [Flow] {
    try await call(FlowList(provider: provider, kind: kind, key: key, status: status)).flows
  }

  /// The newest of the caller's flows of a kind that fits; nil where none does.
  func newestFlow(
    of provider: ProviderName, kind: String, key: String? = nil, status: FlowStatus? = .active,
    where fits: (Flow) -> Bool = { _ in true }
  ) async throws -> FlowSession? {
    for flow in try await flows(of: provider, kind: kind, key: key, status: status) {
      let session = try await session(of: flow.id)
      if fits(session.flow) { return session }
    }
    return nil
  }
}
