import Synchronization
package import Testing

/// Lets no two tests run at the same time that use the same thing of this process, such as the static
/// settings of a type.
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

  /// Whoever waits is served in the order of arrival.
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

  fileprivate static let locks = Dictionary(
    uniqueKeysWithValues: SDK.allCases.map { ($0, Lock()) })
}

/// A facade of UsherKit with static state, such as `BSA.configure`, which is for the whole process.
package enum SDK: Sendable, CaseIterable {
  case bsa, freedomID, paysafe, truecaller
}

extension Trait where Self == ExclusiveUse {
  /// For tests that use the static state of a facade of UsherKit. They are serialized in their suite, too:
  /// a test that waits for its turn holds the place of another one.
  package static func uses(_ sdk: SDK) -> ExclusiveUse {
    ExclusiveUse(lock: ExclusiveUse.locks[sdk] ?? ExclusiveUse.Lock())
  }
}
