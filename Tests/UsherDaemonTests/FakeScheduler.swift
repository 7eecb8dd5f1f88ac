import Synchronization
import UsherCore
import UsherTestKit

@testable import UsherDaemon

/// A scheduler whose timers fire when the test advances its clock.
final class FakeScheduler: Scheduler {
  private struct Pending {
    let due: Timestamp
    let body: @Sendable () -> Void
  }

  private struct State {
    var pending: [Int: Pending] = [:]
    var next = 0
  }

  private let clock: FakeClock
  private let state = Mutex(State())

  init(_ clock: FakeClock) { self.clock = clock }

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let due = clock.now() + delay
    let number = state.withLock { state in
      state.next += 1
      state.pending[state.next] = Pending(due: due, body: body)
      return state.next
    }
    return ScheduledTimer { [self] in state.withLock { _ = $0.pending.removeValue(forKey: number) }
    }
  }

  /// The remaining times of the pending timers, the shortest first.
  var pending: [Duration] {
    let now = clock.now()
    return state.withLock { $0.pending.values.map { $0.due - now } }.sorted()
  }

  /// Advances the clock and fires the timers that are due.
  func advance(by duration: Duration) {
    clock.advance(by: duration)
    let now = clock.now()
    let due = state.withLock { state in
      let due = state.pending.filter { $0.value.due <= now }
      for number in due.keys { state.pending[number] = nil }
      return due.values.sorted { $0.due < $1.due }
    }
    for timer in due { timer.body() }
  }
}

extension FakeScheduler {
  /// Returns once a timer with this delay is pending, as a sign that a task waits.
  func isSet(_ delay: Duration) async throws {
    try await reached("a timer fires in \(delay); pending: \(pending)") { pending.contains(delay) }
  }
}
