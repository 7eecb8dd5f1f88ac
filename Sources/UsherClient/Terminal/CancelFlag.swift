package import Dispatch
import Synchronization

/// A flag by which a blocked thread learns that its task was cancelled.
package final class CancelFlag: Sendable {
  private let value = Atomic(false)
  package var isRaised: Bool { value.load(ordering: .relaxed) }

  /// Runs a blocking function on a queue, so that it does not block a thread of the task pool. If
  /// the task is cancelled, the flag that the function gets is set.
  package static func run<T: Sendable>(
    on queue: DispatchQueue, _ body: @escaping @Sendable (CancelFlag) throws -> T
  ) async throws -> T {
    let isCancelled = CancelFlag()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { continuation.resume(with: Result { try body(isCancelled) }) }
      }
    } onCancel: {
      isCancelled.value.store(true, ordering: .relaxed)
    }
  }
}
