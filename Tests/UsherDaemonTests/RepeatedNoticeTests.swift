import Testing
import UsherTestKit

@testable import UsherDaemon

@Suite("Entries in the journal that a caller can cause at will")
struct RepeatedNoticeTests {
  @Test("the first is due, then one a minute, which tells how many there were")
  func minute() {
    let clock = FakeClock()
    let notice = RepeatedNotice(clock)
    #expect(notice.due() == 1)
    for _ in 1..<60 {
      clock.advance(by: .seconds(1))
      #expect(notice.due() == nil)
    }
    clock.advance(by: .seconds(1))
    #expect(notice.due() == 60)
    clock.advance(by: .seconds(1))
    #expect(notice.due() == nil)
    clock.advance(by: .seconds(139))
    #expect(notice.due() == 2)
  }
}
