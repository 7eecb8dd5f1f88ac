import Synchronization

/// A count of work in progress, by which a shutdown waits until there is none.
package final class WorkCounter: Sendable {
  private struct State {
    var count = 0
    /// Opened when the count becomes 0; nil if nothing waits for that.
    var idle: AsyncLatch?
  }

  private let state = Mutex(State())

  package init() {}

  /// Whether no work is in progress.
  package var isIdle: Bool { state.withLock { $0.count == 0 } }

  /// Counts a piece of work; ``end()`` must follow once for each call.
  package func begin() { state.withLock { $0.count += 1 } }

  package func end() {
    let idle = state.withLock { state -> AsyncLatch? in
      state.count -= 1
      guard state.count == 0 else { return nil }
      defer { state.idle = nil }
      return state.idle
    }
    idle?.open()
  }

  /// Returns when no work is in progress, or at once if the task is cancelled.
  package func waitUntilIdle() async {
    let idle = state.withLock { state -> AsyncLatch? in
      guard state.count > 0 else { return nil }
      let idle = state.idle ?? AsyncLatch()
      state.idle = idle
      return idle
    }
    await idle?.wait()
  }
}
