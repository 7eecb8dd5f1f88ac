import JSONRPC
import UsherAPI
import UsherClient
import UsherCore

extension UsherClient {
  /// Begins a flow. Cancellation does not interrupt the start, because it would be unknown whether
  /// a flow was begun.
  func beginFlow(
    _ provider: ProviderName, _ kind: String, params: JSONValue
  ) async throws -> FlowSession {
    try Task.checkCancellation()
    return try await Task {
      try await flow(provider: provider.rawValue, kind: kind, params: params)
    }.value
  }
}

extension FlowSession {
  /// Runs a closure on the flow, and cancels the flow if the task is cancelled.
  func cancelOnTaskCancellation<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      try Task.checkCancellation()
      let value = try await body()
      try Task.checkCancellation()
      return value
    } catch {
      if Task.isCancelled {
        await cancelIgnoringErrors()
        throw CancellationError()
      }
      throw error
    }
  }

  /// Cancels the flow, even from a cancelled task. Errors are ignored, because the flow expires.
  func cancelIgnoringErrors() async {
    await Task { _ = try? await cancel() }.value
  }
}
