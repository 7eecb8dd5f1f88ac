import NIOCore
import UsherCore

/// Source of timers. It is passed as a dependency, so that tests control time.
package protocol Scheduler: Sendable {
  /// Runs `body` once after `delay`, unless the timer is cancelled first.
  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer
}

/// A pending timer of a ``Scheduler``. Cancelling it twice, or after it has fired, has no effect.
package struct ScheduledTimer: Sendable {
  private let body: @Sendable () -> Void

  package init(cancel body: @escaping @Sendable () -> Void) { self.body = body }

  package func cancel() { body() }
}

/// A scheduler on a SwiftNIO event loop. A timer costs a heap entry, not a thread or a task.
struct EventLoopScheduler: Scheduler {
  private let loop: any EventLoop

  init(on loop: any EventLoop) { self.loop = loop }

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let bounded = min(max(delay, .zero), .seconds(365 * 86_400))
    let scheduled = loop.scheduleTask(in: TimeAmount(bounded)) { body() }
    return ScheduledTimer { scheduled.cancel() }
  }
}

extension Scheduler {
  /// Waits for `delay`. Returns at once if the task is cancelled.
  func pause(_ delay: Duration) async {
    await wait(for: AsyncLatch(), atMost: delay)
  }

  /// Waits until `latch` opens, and opens it itself after `limit`. Returns at once if the task is
  /// cancelled.
  func wait(for latch: AsyncLatch, atMost limit: Duration) async {
    let timer = after(limit) { latch.open() }
    await latch.wait()
    timer.cancel()
  }
}
