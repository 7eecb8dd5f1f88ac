import JSONRPC
import Testing
import UsherTestKit

@Suite("GoPay: while the daemon is locked", .mayBlock, .timeLimit(.minutes(10)))
struct GoPayLockTests {
  @Test("nobody listens where the provider calls, and then somebody does again")
  func callbacks() throws {
    let scene = try GoPayScene()
    let admin = try scene.daemon.admin()
    let stranger = try scene.call([:], authorization: "nothing-like-it").status
    let provider = try scene.call([:]).status
    #expect(stranger == 401 || stranger == 400)
    for _ in 1...3 {
      _ = try admin.call("system.lock")
      #expect(throws: (any Error).self) { try scene.call([:]) }
      _ = try admin.call("system.unlock")
      #expect(try scene.call([:], authorization: "nothing-like-it").status == stranger)
      #expect(try scene.call([:]).status == provider)
    }
    _ = try admin.call("system.lock")
    try scene.daemon.restart()
    #expect(throws: (any Error).self) { try scene.call([:]) }
    _ = try scene.daemon.admin().call("system.unlock")
    #expect(try scene.call([:]).status == provider)
  }
}
