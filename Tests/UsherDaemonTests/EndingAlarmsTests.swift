import Synchronization
import Testing
import UsherTestKit

@testable import UsherDaemon

@Suite("Alarms that end with the daemon")
struct EndingAlarmsTests {
  private let clock = FakeClock()
  private let fake: FakeAlarms
  private let alarms: EndingAlarms
  private let rung = Rung()

  init() {
    fake = FakeAlarms(clock)
    alarms = EndingAlarms(fake)
  }

  private final class Rung: Sendable {
    private let names = Mutex<[String]>([])
    var all: [String] { names.withLock { $0 } }
    func ring(_ name: String) { names.withLock { $0.append(name) } }
  }

  private func set(_ name: String, _ delay: Duration = .seconds(60)) -> Alarm {
    alarms.after(delay) { [rung] in rung.ring(name) }
  }

  @Test("each rings at its time, and once")
  func atItsTime() {
    _ = set("a")
    fake.advance(by: .seconds(59))
    #expect(rung.all.isEmpty)
    fake.advance(by: .seconds(1))
    alarms.end()
    #expect(rung.all == ["a"])
  }

  @Test("at the end all ring that are set, and later ones at once")
  func end() {
    _ = set("a")
    let cancelled = set("b")
    cancelled.cancel()
    alarms.end()
    #expect(rung.all == ["a"])
    _ = set("c")
    #expect(rung.all == ["a", "c"])
    fake.advance(by: .seconds(120))
    #expect(rung.all == ["a", "c"])
  }
}
