import Synchronization

/// The authorizations in progress of a ``FreedomID`` object, so that `clear` can cancel them.
final class RunningCalls: Sendable {
  private struct State {
    var last = 0
    var cancels: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Mutex(State())

  /// Runs a closure until it ends, or until ``cancelAll()`` or the caller's task cancels it.
  func run<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    let (id, task) = state.withLock { state in
      let task = Task { try await body() }
      state.last += 1
      state.cancels[state.last] = { task.cancel() }
      return (state.last, task)
    }
    defer { state.withLock { $0.cancels[id] = nil } }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Cancels the closures that are running.
  func cancelAll() {
    for cancel in state.withLock({ Array($0.cancels.values) }) { cancel() }
  }
}
