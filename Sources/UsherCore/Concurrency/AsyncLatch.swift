import Synchronization

/// A latch that suspends tasks until it is opened. An open latch cannot be closed again.
package final class AsyncLatch: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  package init() {}

  /// Resumes the waiting tasks in the order of their arrival.
  package func open() {
    let released = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [:] }
      return state.waiting
    }
    for (_, continuation) in released.sorted(by: { $0.key < $1.key }) { continuation.resume() }
  }

  /// Suspends the task until the latch is open; returns at once if the task is cancelled.
  package func wait() async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if state.isOpen || Task.isCancelled { return true }
          state.waiting[number] = continuation
          return false
        }
        if isOpen { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
  }
}
