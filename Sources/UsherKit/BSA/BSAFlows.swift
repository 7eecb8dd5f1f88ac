import JSONRPC
import UsherAPI
import UsherClient
import UsherCore

extension UsherClient {
  /// Begins a flow for a call that may be cancelled meanwhile: whether there is a flow is known
  /// afterwards.
  func beginning(
    _ provider: ProviderName, _ kind: String, params: JSONValue
  ) async throws -> FlowSession {
    try Task.checkCancellation()
    return try await Task {
      try await flow(provider: provider.rawValue, kind: kind, params: params)
    }.value
  }
}

extension FlowSession {
  /// Runs what a call does with its flow: when the call's task is cancelled, so is the flow.
  func cancelledWithTask<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      try Task.checkCancellation()
      let value = try await body()
      try Task.checkCancellation()
      return value
    } catch {
      if Task.isCancelled {
        await cancelAnyway()
        throw CancellationError()
      }
      throw error
    }
  }

  /// Cancels the flow, also from a task that is cancelled itself; at the latest it expires.
  func cancelAnyway() async {
    await Task { _ = try? await cancel() }.value
  }
}
