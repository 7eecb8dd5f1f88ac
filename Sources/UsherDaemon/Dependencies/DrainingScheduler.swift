import Synchronization

/// A scheduler for what only waits for a person, an event or a provider's next attempt. When the
/// daemon stops, all timers fire, and later ones fire at once, so that the waits end.
final class DrainingScheduler: Scheduler {
  private struct Pending {
    let body: @Sendable () -> Void
    /// The timer of the wrapped scheduler; nil until it is set.
    var timer: ScheduledTimer?
  }

  private struct State {
    var isStopped = false
    var next = 0
    var pending: [Int: Pending] = [:]
  }

  private let scheduler: any Scheduler
  private let state = Mutex(State())

  init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

  /// Whether ``end()`` was called.
  var hasEnded: Bool { state.withLock { $0.isStopped } }

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let number = state.withLock { state -> Int? in
      guard !state.isStopped else { return nil }
      state.next += 1
      state.pending[state.next] = Pending(body: body)
      return state.next
    }
    guard let number else {
      body()
      return ScheduledTimer {}
    }
    let timer = scheduler.after(delay) { [self] in remove(number)?.body() }
    // The timer may have fired before it was stored here.
    let isPending = state.withLock { state in
      state.pending[number]?.timer = timer
      return state.pending[number] != nil
    }
    if !isPending { timer.cancel() }
    return ScheduledTimer { [self] in remove(number)?.timer?.cancel() }
  }

  /// Fires all pending timers now; a timer that is set after this call fires immediately. Called
  /// when the daemon stops.
  func end() {
    let all = state.withLock { state in
      state.isStopped = true
      defer { state.pending = [:] }
      return state.pending.values
    }
    for pending in all {
      pending.timer?.cancel()
      pending.body()
    }
  }

  private func remove(_ number: Int) -> Pending? {
    state.withLock { $0.pending.removeValue(forKey: number) }
  }
}
