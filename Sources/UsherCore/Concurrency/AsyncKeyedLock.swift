import Synchronization

/// Runs tasks that change the same thing one after the other, in the order in which they came.
///
/// A plan that is made from a state and then written needs it: while the disk writes, another task
/// would plan from the old state and overwrite the new one.
package final class AsyncKeyedLock<Key: Hashable & Sendable>: Sendable {
  private typealias Waiting = [CheckedContinuation<Void, Never>]

  /// The keys that are held, each with the tasks that wait for it.
  private let queues = Mutex<[Key: Waiting]>([:])

  package init() {}

  /// Runs `body` while no other task holds the key. `body` must not ask for the same key.
  ///
  /// A cancelled task waits as well; `body` can look.
  package func withLock<Value, Failure: Error>(
    _ key: Key, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    await acquire(key)
    defer { release(key) }
    return try await body()
  }

  private func acquire(_ key: Key, isolation: isolated (any Actor)? = #isolation) async {
    await withCheckedContinuation { continuation in
      let isFree = queues.withLock { queues in
        guard queues[key] != nil else {
          queues[key] = []
          return true
        }
        queues[key]?.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  private func release(_ key: Key) {
    let next = queues.withLock { queues -> CheckedContinuation<Void, Never>? in
      guard var waiting = queues[key], !waiting.isEmpty else {
        queues[key] = nil
        return nil
      }
      let next = waiting.removeFirst()
      queues[key] = waiting
      return next
    }
    next?.resume()
  }
}
