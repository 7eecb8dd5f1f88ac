import Dispatch
import Synchronization

/// Tells a blocking thread that its task was cancelled.
final class CancelFlag: Sendable {
  private let value = Atomic(false)
  var isRaised: Bool { value.load(ordering: .relaxed) }

  /// Runs a blocking function on a queue, so that it does not block a thread of the task pool. The
  /// flag that the function gets is raised when the task is cancelled.
  static func run<T: Sendable>(
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
