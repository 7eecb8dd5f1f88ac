import NIOCore
import Testing
import UsherTestKit

@testable import UsherTransport

@Suite("Timers of an event loop")
struct LoopTimersTests {
  private final class Log {
    var entries: [Int] = []
  }

  private let timers = LoopTimers()
  private let log = Log()

  private func add(_ number: Int, at nanoseconds: Int) -> LoopTimer {
    timers.add(.uptimeNanoseconds(UInt64(nanoseconds))) { [log] in log.entries.append(number) }
  }

  private func runDueTimers(at nanoseconds: Int) {
    while let body = timers.pop(at: .uptimeNanoseconds(UInt64(nanoseconds))) { body() }
  }

  @Test("loop timers fire in the order of their deadlines, and equal ones in order of creation")
  func order() {
    var random = SeededGenerator(seed: 1)
    let times = (0..<2000).map { _ in Int.random(in: 100..<300, using: &random) }
    for (number, time) in times.enumerated() { _ = add(number, at: time) }
    runDueTimers(at: 99)
    #expect(log.entries.isEmpty)
    runDueTimers(at: 199)
    #expect(log.entries.count == times.count { $0 < 200 })
    #expect(timers.next == .uptimeNanoseconds(200))
    runDueTimers(at: 300)
    #expect(log.entries == times.indices.sorted { (times[$0], $0) < (times[$1], $1) })
    #expect(timers.next == nil)
  }

  @Test("a cancelled loop timer does not fire, and may be cancelled repeatedly")
  func cancelled() {
    var random = SeededGenerator(seed: 2)
    let timers = (0..<3000).map { add($0, at: Int.random(in: 100..<300, using: &random)) }
    let gone = Set((0..<3000).filter { _ in Int.random(in: 0..<4, using: &random) > 0 })
    for number in gone { timers[number].cancel() }
    for number in gone where number % 2 == 0 { timers[number].cancel() }
    let kept = timers.indices.filter { !gone.contains($0) }
    runDueTimers(at: 300)
    #expect(log.entries.sorted() == kept)
    #expect(log.entries == kept.sorted { (timers[$0].deadline, $0) < (timers[$1].deadline, $1) })
    for timer in timers { timer.cancel() }
    #expect(self.timers.next == nil)
    _ = add(7, at: 400)
    #expect(self.timers.next == .uptimeNanoseconds(400), "a cancelled timer is never the next")
  }

  @Test("cancelling most loop timers, the first one included, loses none of the others")
  func cancelledFirst() {
    let timers = (0..<200).map { add($0, at: 100 + $0) }
    // The last of these cancellations removes all cancelled timers from the heap.
    for timer in timers.prefix(101) { timer.cancel() }
    #expect(self.timers.next == timers[101].deadline)
    runDueTimers(at: 300)
    #expect(log.entries == Array(101..<200))
  }

  @Test("cancelling a loop timer releases its closure at once")
  func letGo() {
    var held: Log? = Log()
    weak let gone = held
    let timer = timers.add(.uptimeNanoseconds(1)) { [held] in held?.entries.append(1) }
    held = nil
    #expect(gone != nil)
    timer.cancel()
    #expect(gone == nil)
  }

  @Test("a loop timer may set another timer when it fires")
  func more() {
    _ = timers.add(.uptimeNanoseconds(1)) { [self] in
      log.entries.append(1)
      _ = add(2, at: 5)
    }
    runDueTimers(at: 4)
    #expect(log.entries == [1])
    runDueTimers(at: 5)
    #expect(log.entries == [1, 2])
  }
}
