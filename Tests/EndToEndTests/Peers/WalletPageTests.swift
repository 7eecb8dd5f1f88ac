import JSONRPC
import Testing
import UsherTestKit

/// The sign-in page of a Paysafe brand and the page that approves an SCA event, in a real browser.
@Suite(
  "Paysafe wallet pages in a real browser", .mayBlock, .timeLimit(.minutes(10)), .serialized,
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct WalletPageTests {
  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  private let clock = MovableClock()

  init() throws {
    sandbox = try SandboxUnderTest(clock: clock)
    daemon = try DaemonUnderTest(
      config: """
        [[provider]]
        name = "paysafe"
        type = "paysafe"
        base_url = "\(sandbox.base)/paysafe"
        brand_identity = "acme"
        client_id = "acme-public"

        """, clock: clock)
  }

  @Test("a Paysafe sign-in succeeds with the right PIN after a wrong one, and the app gets a token")
  func pin() throws {
    // While time stands still, the page waits for the outcome, however long it takes.
    clock.stop()
    let client = try daemon.client()
    let (flow, page) = try client.signIn("paysafe", at: .paysafe)
    #expect(page.title == "Signed in")
    #expect(page.url.hasPrefix("http://127.0.0.1:"))
    #expect(page.url.hasSuffix("/callback"))
    #expect(flow["status"] == "succeeded")
    #expect(try !client.accessToken("paysafe").isEmpty)
  }

  @Test("cancelling at the Paysafe PIN page ends the flow with denied")
  func denied() throws {
    clock.stop()
    let (flow, page) = try daemon.client().signIn("paysafe", at: .paysafe, .deny)
    #expect(page.title == "Not signed in")
    #expect(flow["failure"]?["reason"] == "denied")
  }

  @Test("a Paysafe sca flow succeeds after its event was approved at the provider's page")
  func redirect() throws {
    let client = try daemon.client()
    _ = try client.signIn("paysafe", at: .paysafe)
    let event = try sandbox.control("POST", "paysafe/events", ["username": "alice"])
    let flow = try client.startFlow(
      "paysafe", "sca",
      params: [
        "eventId": event["eventId"] ?? .null,
        "walletOperationId": event["walletOperationId"] ?? .null,
        "verification": ["method": "BIOMETRIC", "channel": "REDIRECT"],
        "returnUrl": .string("\(sandbox.base)/outbox"),
      ])
    let url = try #require(flow["step"]?["url"]?.stringValue)
    let page = try Browser.visit(url, .redirect)
    #expect(page.url == "\(sandbox.base)/outbox")
    #expect(try client.finished(flow)["status"] == "succeeded")
  }
}
