import Foundation
import Testing

@testable import UsherSandbox

@Suite("HTTP callbacks of the GoPay fake")
struct GoPayServerTests {
  @Test("a GoPay callback to a port without a server is reported as failed")
  func nobody() async throws {
    // No server listens on the reserved port 1.
    let url = try #require(CallbackURL("http://127.0.0.1:1/"))
    guard case .failed(let reason) = await LoopbackCaller.put(url, headers: [:], body: []) else {
      Issue.record("a server answered on port 1")
      return
    }
    #expect(!reason.isEmpty)
  }

  @Test("an HTTP answer to a GoPay callback is read to its end, and a malformed one is refused")
  func answers() throws {
    let text = "HTTP/1.1 401 Unauthorized\r\nA: b\r\n\r\n{}\r\n\r\n"
    #expect(
      try LoopbackCaller.answer(Array(text.utf8))
        == .answered(status: 401, body: Array("{}\r\n\r\n".utf8)))
    for text in ["", "HTTP/1.1 200 OK\r\n", "SSH-2.0\r\n\r\n", "HTTP/1.1 x\r\n\r\n"] {
      #expect(throws: LoopbackCaller.CallError.self) { try LoopbackCaller.answer(Array(text.utf8)) }
    }
  }

  @Test("the issuer of the sandbox's OpenID provider cannot use GoPay's path")
  func taken() {
    var configuration = Sandbox.Configuration()
    configuration.issuerPath = "/gopay"
    #expect(throws: Sandbox.ConfigurationError.self) { try Sandbox(configuration) }
  }
}
