import Testing
import UsherTestKit

@testable import UsherDaemon

@Suite("Log entries that a caller can cause at will")
struct RepeatedNoticeTests {
  @Test("a repeated log entry is due at once and then once a minute, with the number of repeats")
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
