import JSONRPC
import Testing
import UsherTestKit

/// The sandbox's pages and the daemon's own, in a real browser.
@Suite(
  "The pages in a browser", .mayBlock, .serialized,
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: Packaging/install-dependencies test must have run"))
struct SandboxPageTests {
  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider())
  }

  @Test("who signs in and allows sees that it is done, and the app gets a token")
  func allowed() throws {
    let client = try daemon.client()
    var (flow, page) = try client.signIn("demo", at: .sandbox)
    // The page that a browser gets after five seconds, on a machine that is busy.
    for _ in 0..<4 where page.title == "Almost done" {
      #expect(flow["status"] == "succeeded")
      (flow, page) = try client.signIn("demo", at: .sandbox)
    }
    #expect(page.title == "Signed in")
    #expect(page.text.contains("You may close this tab"))
    #expect(page.url.hasPrefix("http://127.0.0.1:"))
    #expect(page.url.hasSuffix("/callback"))
    #expect(flow["status"] == "succeeded")
    let account = flow["result"]?["account"] ?? .null
    #expect(
      try client.call("token.get", ["account": account])["accessToken"]?.stringValue?
        .hasPrefix("at_") == true)
  }

  @Test("who denies sees that too, and the flow has failed")
  func denied() throws {
    let client = try daemon.client()
    let (flow, page) = try client.signIn("demo", at: .sandbox, .deny)
    #expect(page.title == "Not signed in")
    #expect(flow["status"] == "failed")
    #expect(flow["failure"]?["reason"] == "denied")
    #expect(try client.reason(of: "token.get", ["provider": "demo"]) == "interaction_required")
  }

  @Test("a code from another device is entered at the device's page")
  func device() throws {
    try sandbox.control("POST", "settings", ["deviceInterval": 1])
    let client = try daemon.client()
    let (flow, page) = try client.signInOnDevice("demo", at: .sandbox)
    #expect(flow["status"] == "succeeded")
    #expect(page.url.hasPrefix(sandbox.base))
    #expect(try client.accessToken("demo").hasPrefix("at_"))
  }
}
