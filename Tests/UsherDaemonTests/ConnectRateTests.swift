import NIOCore
import Testing

@testable import UsherDaemon

@Suite("How often a user connects")
struct ConnectRateTests {
  @Test("a user that goes on connecting comes in evenly, and not all at once when a second is over")
  func evenly() {
    var share = FairShare(FairShare.Terms(percent: 25, knocks: 5, flights: 3))
    var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    func connect() -> [FairShare.Welcome] {
      (0..<100).map { _ in share.comes(.user(1001), isCrowded: true, at: now) }
    }
    #expect(connect().count { $0 == .comesIn } == 5)
    var welcomes: [FairShare.Welcome] = []
    for _ in 0..<20 {
      now = now + .milliseconds(100)
      let these = connect()
      #expect(these.count { $0 == .comesIn } <= 1)
      #expect(these.count { $0 == .refused } <= 7)
      welcomes += these
    }
    #expect(welcomes.count { $0 == .comesIn } == 10, "as many as within two seconds")
  }
}
