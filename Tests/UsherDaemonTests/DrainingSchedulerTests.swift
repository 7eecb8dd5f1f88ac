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
}
