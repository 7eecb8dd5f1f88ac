import Foundation
import Testing
import UsherTestKit

@Suite("A client that knows nothing but rpc.discover", .mayBlock, .timeLimit(.minutes(10)))
struct DiscoveredClientTests {
  @Test("a client that knows only rpc.discover signs in, and every message matches the document")
  func discovered() throws {
    let sandbox = try SandboxUnderTest()
    let daemon = try DaemonUnderTest(config: sandbox.provider())
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("discovered_client.py").path
    let outcome = try run("/usr/bin/python3", ["-B", script, daemon.socketPath, "demo"])
    #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
    #expect(outcome.output == "all fine\n")
    #expect(try sandbox.requests("token", grantType: "authorization_code") == 1)
  }
}
