import Synchronization
import Testing
import UsherTestKit

@testable import UsherDaemon

@Suite("Draining scheduler")
struct DrainingSchedulerTests {
  private let clock = FakeClock()
  private let fake: FakeScheduler
  private let scheduler: DrainingScheduler
  private let rung = Recorded<String>()

  init() {
    fake = FakeScheduler(clock)
    scheduler = DrainingScheduler(fake)
  }

  private func set(_ name: String, _ delay: Duration = .seconds(60)) -> ScheduledTimer {
    scheduler.after(delay) { [rung] in rung.add(name) }
  }

  @Test("a timer of the draining scheduler fires at its time, and only once")
  func atItsTime() {
    _ = set("a")
    fake.advance(by: .seconds(59))
    #expect(rung.all.isEmpty)
    fake.advance(by: .seconds(1))
    scheduler.end()
    #expect(rung.all == ["a"])
  }

  @Test("when the draining scheduler ends, pending timers fire and later ones fire at once")
  func end() {
    _ = set("a")
    let cancelled = set("b")
    cancelled.cancel()
    scheduler.end()
    #expect(rung.all == ["a"])
    _ = set("c")
    #expect(rung.all == ["a", "c"])
    fake.advance(by: .seconds(120))
    #expect(rung.all == ["a", "c"])
  }

  @Test("whatever the order of timers, cancellations and the end, each timer fires once or never")
  func orders() throws {
    let orders = try SeededExecutor.explore { executor in
      let scheduler = DrainingScheduler(SeededScheduler(executor: executor))
      let rung = Recorded<Int>()
      await withTaskGroup { group in
        for number in 1...4 {
          group.addTask {
            let timer = scheduler.after(.seconds(number)) { rung.add(number) }
            await Task.yield()
            if number == 4 { timer.cancel() }
          }
        }
        group.addTask {
          await Task.yield()
          scheduler.end()
        }
      }
      let all = rung.all.sorted()
      guard all == [1, 2, 3] || all == [1, 2, 3, 4] else { throw TestError("\(rung.all)") }
    }
    #expect(orders > 100)
  }
}

/// Timers that fire at any time, in the order of a seed.
private struct SeededScheduler: Scheduler {
  let executor: SeededExecutor

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let isCancelled = Atomic(false)
    executor.start { if !isCancelled.load(ordering: .relaxed) { body() } }
    return ScheduledTimer { isCancelled.store(true, ordering: .relaxed) }
  }
}
