import Synchronization
import UsherCore

/// Lets those who change the same thing do so one after the other: plan, write, take over.
///
/// Between planning and writing the disk works: without a turn, what was planned on the old state
/// would be written over the new one.
final class AsyncKeyedLock<Key: Hashable & Sendable>: Sendable {
  private typealias Waiting = [CheckedContinuation<Void, Never>]

  /// Keys whose turn somebody has, with those who wait, in the order they came.
  private let queues = Mutex<[Key: Waiting]>([:])

  /// Runs `body` when all who came before for the same key are done; it must not ask for a turn.
  func take<Value>(
    _ key: Key, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    await enter(key)
    defer { leave(key) }
    return try await body()
  }

  private func enter(_ key: Key, isolation: isolated (any Actor)? = #isolation) async {
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

  private func leave(_ key: Key) {
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
