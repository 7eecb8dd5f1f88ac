import Synchronization
package import Testing

/// Runs tests that use the same static state of this process one at a time.
package struct ExclusiveUse: SuiteTrait, TestTrait, TestScoping {
  fileprivate let lock: Lock

  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    await lock.acquire()
    defer { lock.release() }
    try await body()
  }

  /// Tests acquire the lock in the order of arrival, and each holds it no longer than its time
  /// limit.
  fileprivate final class Lock: Sendable {
    private struct State {
      var isTaken = false
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func acquire() async {
      await withCheckedContinuation { continuation in
        let isMine = state.withLock { state in
          if state.isTaken { state.waiting.append(continuation) }
          defer { state.isTaken = true }
          return !state.isTaken
        }
        if isMine { continuation.resume() }
      }
    }

    func release() {
      let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
        guard !state.waiting.isEmpty else {
          state.isTaken = false
          return nil
        }
        return state.waiting.removeFirst()
      }
      next?.resume()
    }
  }
}

/// A facade of UsherKit with static state, such as `BSA.configure`, which exists once per process.
package struct SDK: Sendable {
  fileprivate let lock = ExclusiveUse.Lock()

  package static let bsa = SDK()
  package static let freedomID = SDK()
  package static let paysafe = SDK()
  package static let truecaller = SDK()
}

extension Trait where Self == ExclusiveUse {
  /// The trait for tests that use the static state of a facade of UsherKit.
  ///
  /// Also serialize the suite: a test that waits for the lock keeps another test from running.
  package static func uses(_ sdk: SDK) -> ExclusiveUse { ExclusiveUse(lock: sdk.lock) }
}
