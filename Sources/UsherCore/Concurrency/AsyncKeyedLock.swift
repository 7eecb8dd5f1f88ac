import Synchronization

/// Serialises tasks that use the same key, in order of arrival.
///
/// Use it if a task reads a state, plans a change and then awaits the write. Without the lock,
/// another task could plan from the old state during the write, and overwrite the new state.
package final class AsyncKeyedLock<Key: Hashable & Sendable>: Sendable {
  private typealias Waiting = [CheckedContinuation<Void, Never>]

  /// The keys that are held, each with the tasks that wait for it.
  private let queues = Mutex<[Key: Waiting]>([:])

  package init() {}

  /// Runs `body` while it holds the key. `body` must not acquire the same key.
  ///
  /// A cancelled task still waits for the key; `body` can check for cancellation.
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
