import JSONRPC
import Testing
import UsherTestKit

@Suite("GoPay callbacks while the daemon is locked", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayLockTests {
  @Test("GoPay's callback port is closed while the daemon is locked, and open again after unlock")
  func callbacks() throws {
    let fixture = try GoPayFixture()
    let admin = try fixture.daemon.admin()
    let stranger = try fixture.call([:], authorization: "nothing-like-it").status
    let provider = try fixture.call([:]).status
    #expect(stranger == 401 || stranger == 400)
    for _ in 1...3 {
      _ = try admin.call("system.lock")
      #expect(throws: (any Error).self) { try fixture.call([:]) }
      _ = try admin.call("system.unlock")
      #expect(try fixture.call([:], authorization: "nothing-like-it").status == stranger)
      #expect(try fixture.call([:]).status == provider)
    }
    _ = try admin.call("system.lock")
    try fixture.daemon.restart()
    #expect(throws: (any Error).self) { try fixture.call([:]) }
    _ = try fixture.daemon.admin().call("system.unlock")
    #expect(try fixture.call([:]).status == provider)
  }
}
