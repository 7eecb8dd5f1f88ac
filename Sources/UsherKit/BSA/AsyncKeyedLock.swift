import Synchronization

/// Lets one at a time do something to the same thing, in the order in which they come.
final class AsyncKeyedLock: Sendable {
  /// Who waits for a thing that somebody has; nothing for one that nobody has.
  private let waiting = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])

  /// - Parameter thing: What it is done to.
  func inTurn<Value>(
    _ thing: String, _ body: () async throws -> Value
  ) async throws -> Value {
    await take(thing)
    defer { giveBack(thing) }
    try Task.checkCancellation()
    return try await body()
  }

  private func take(_ thing: String) async {
    await withCheckedContinuation { continuation in
      let isFree = waiting.withLock { waiting in
        guard waiting[thing] != nil else {
          waiting[thing] = []
          return true
        }
        waiting[thing]?.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  private func giveBack(_ thing: String) {
    let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
      guard let first = waiting[thing]?.first else {
        waiting[thing] = nil
        return nil
      }
      waiting[thing]?.removeFirst()
      return first
    }
    next?.resume()
  }
}
