import NIOCore
import Testing

@testable import UsherDaemon

@Suite("Entries in the journal that a caller can cause at will")
struct NoticeLimiterTests {
  @Test("the first is due, then one a minute, which tells how many there were")
  func minute() {
    var limiter = NoticeLimiter()
    let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    #expect(limiter.record(at: start) == 1)
    for second in 1..<60 { #expect(limiter.record(at: start + .seconds(Int64(second))) == nil) }
    #expect(limiter.record(at: start + .seconds(60)) == 60)
    #expect(limiter.record(at: start + .seconds(61)) == nil)
    #expect(limiter.record(at: start + .seconds(200)) == 2)
  }
}
