import JSONRPC
import Testing
import UsherTestKit

/// The sandbox's pages and the daemon's own, in a real browser.
@Suite(
  "Pages of the sandbox and of usherd in a real browser", .mayBlock, .timeLimit(.minutes(10)),
  .serialized,
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct SandboxPageTests {
  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  private let clock = MovableClock()

  init() throws {
    sandbox = try SandboxUnderTest(clock: clock)
    daemon = try DaemonUnderTest(config: sandbox.provider(), clock: clock)
  }

  @Test("an allowed sign-in shows the page Signed in in the browser, and the app gets a token")
  func allowed() throws {
    // While time stands still, the page waits for the outcome, however long it takes.
    clock.stop()
    let client = try daemon.client()
    let (flow, page) = try client.signIn("demo", at: .sandbox)
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

  @Test("a denied sign-in shows the page Not signed in in the browser, and the flow has failed")
  func denied() throws {
    clock.stop()
    let client = try daemon.client()
    let (flow, page) = try client.signIn("demo", at: .sandbox, .deny)
    #expect(page.title == "Not signed in")
    #expect(flow["status"] == "failed")
    #expect(flow["failure"]?["reason"] == "denied")
    #expect(try client.reason(of: "token.get", ["provider": "demo"]) == "interaction_required")
  }

  @Test("a device code entered at the sandbox's page signs in, and the app gets a token")
  func device() throws {
    try sandbox.control("POST", "settings", ["deviceInterval": 1])
    let client = try daemon.client()
    let (flow, page) = try client.signInOnDevice("demo", at: .sandbox)
    #expect(flow["status"] == "succeeded")
    #expect(page.url.hasPrefix(sandbox.base))
    #expect(try client.accessToken("demo").hasPrefix("at_"))
  }
}
