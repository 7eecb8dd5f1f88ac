import Testing
import UsherCore
import UsherTestKit

@testable import UsherDaemon

/// Compares calls counted through ``AuditRepeat`` with the same calls looked up each time.
@Suite("Equivalence of AuditRepeat and plain counting")
struct AuditRepeatTests {
  /// Sorted, because rows of one instant have no order.
  private func rows(_ aggregator: AuditAggregator) -> [String] {
    aggregator.waiting.map { "\($0)" }.sorted()
  }

  @Test(
    "random calls, denials and minutes leave the same audit rows with AuditRepeat as without",
    arguments: 0..<16)
  func agreement(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var (anew, again) = (AuditAggregator(), AuditAggregator())
    var now = FakeClock().now()
    let keys = (0..<7).map { number in
      (
        AuditEvent.token(account: "acc_\(number % 3)", scope: number > 3 ? "email" : "openid"),
        number.isMultiple(of: 2) ? AuditedCaller.till : .bert
      )
    }
    // A caller may have several connections, each with its own counter.
    var repeats = try (keys + keys).map { try #require(AuditRepeat($0, by: $1)) }
    var counted = 0
    for _ in 0..<5000 {
      switch Int.random(in: 0..<1000, using: &random) {
      case 0..<850:
        let number = Int.random(in: 0..<repeats.count, using: &random)
        let (event, caller) = keys[number % keys.count]
        let isFull = anew.isFull
        if !isFull { anew.record(event, by: caller, at: now) }
        #expect((again.recordRepeat(&repeats[number], at: now) == .refused) == isFull)
        counted += 1
      case 850..<930:
        let (event, caller) = keys[Int.random(in: 0..<keys.count, using: &random)]
        guard !anew.isFull else { continue }
        anew.record(event, by: caller, at: now)
        again.record(event, by: caller, at: now)
      case 930..<950:
        anew.record(.denied("flow.list"), by: .bert, at: now)
        again.record(.denied("flow.list"), by: .bert, at: now)
      case 950..<985: now = now + .milliseconds(Int64.random(in: -3000...20_000, using: &random))
      case 985..<990:
        anew.advance(to: now)
        again.advance(to: now)
      case 990..<993:
        anew.close()
        again.close()
      case 993:
        for user in 0..<70 {
          let caller = AuditedCaller(client: "(user)", uid: UInt32(user), gid: 0, pid: 1)
          for _ in 0..<60 {
            anew.record(.denied("flow.list"), by: caller, at: now)
            again.record(.denied("flow.list"), by: caller, at: now)
          }
        }
      default:
        #expect(rows(anew) == rows(again))
        anew.drop(anew.waiting.count)
        again.drop(again.waiting.count)
      }
      try #require(anew.unwritten == again.unwritten && anew.isCounting == again.isCounting)
    }
    anew.close()
    again.close()
    #expect(rows(anew) == rows(again))
    #expect(counted > 4000)
  }
}
