/// Threads for functions that block, such as reading files or the user database, or that compute
/// for a long time. Such functions must not run on event loops or on the threads of Swift tasks.
package protocol BlockingPool: Sendable {
  /// Starts `body` on another thread and returns at once.
  func start(_ body: @escaping @Sendable () -> Void)
}

extension BlockingPool {
  /// Runs `body` on another thread, and suspends the task until it returns. Cancelling the task has
  /// no effect on `body`.
  package func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { continuation in
      start { continuation.resume(returning: Result { () throws(Failure) in try body() }) }
    }
    return try result.get()
  }
}
