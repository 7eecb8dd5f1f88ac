import Dispatch
import NIOCore
import NIOPosix
import Testing
import UsherCore
import UsherDaemon
import UsherTestKit

@Suite("Clock that a test moves", .mayBlock)
struct MovableClockTests {
  @Test("a timer that a task of the daemon sets while the clock is moved past it fires at once")
  func timerBeingSet() throws {
    let clock = MovableClock()
    clock.stop()
    let scheduler = clock.scheduler(on: MultiThreadedEventLoopGroup.singleton.any())
    let (read, moved, fired) = (Signal(), Signal(), Signal())
    Task(executorPreference: clock.executor) {
      let due = clock.monotonicNow() + .seconds(3600)
      let delay = due - clock.monotonicNow()
      read.send()
      // A clock that waits for this task does not move meanwhile.
      moved.arrives(within: 0.05)
      _ = scheduler.after(delay) { fired.send() }
    }
    #expect(read.arrives())
    try clock.advance(by: 3601)
    moved.send()
    #expect(fired.arrives())
  }
}

private struct Signal {
  private let semaphore = DispatchSemaphore(value: 0)

  func send() { semaphore.signal() }

  @discardableResult
  func arrives(within seconds: Double = 60) -> Bool {
    TestDeadline(within: seconds).isSignalled(semaphore)
  }
}
