import Testing
import UsherTestKit

@testable import UsherDaemon

@Suite("Scheduler that end with the daemon")
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

  @Test("each rings at its time, and once")
  func atItsTime() {
    _ = set("a")
    fake.advance(by: .seconds(59))
    #expect(rung.all.isEmpty)
    fake.advance(by: .seconds(1))
    scheduler.end()
    #expect(rung.all == ["a"])
  }

  @Test("at the end all ring that are set, and later ones at once")
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
