import JSONRPC
import Testing
import UsherTestKit

/// GoPay's sign-in pages and its capture page, in a real browser.
@Suite(
  "GoPay pages in a real browser", .mayBlock, .timeLimit(.minutes(10)), .serialized,
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct GoPayPageTests {
  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(
      config: """
        [[provider]]
        name = "gopay"
        type = "gopay"
        client_id = "acme-sdk"
        merchant_id = "8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11"
        exchange = "backend"
        exchange_url = "\(sandbox.base)/gopay/partner/exchange"
        exchange_credential = "gopay-exchange"
        snap_base_url = "\(sandbox.base)/gopay/snap"
        identity_base_url = "\(sandbox.base)/gopay/identity"
        capture_base_url = "\(sandbox.base)/gopay/capture"
        poll_seconds = 1

        """)
    try daemon.setCredential("gopay-exchange", "s3cret:exchange/key+=")
  }

  /// Starts a verification up to the sign-in page or, with a token, up to the capture page.
  private func start(_ params: JSONValue) throws -> (flow: JSONValue, page: String) {
    var params = params
    params["userCorrelationId"] = "corr-5678"
    let client = try daemon.client()
    let flow = try client.flow(
      in: client.call(
        "flow.start",
        [
          "provider": "gopay", "kind": "verify", "requestId": "req-1", "params": params,
          "waitMs": 60_000,
        ], within: 120))
    return (flow, try page(of: flow))
  }

  private func page(of flow: JSONValue) throws -> String {
    guard let url = flow["step"]?["url"]?.stringValue else {
      throw TestError(
        "the flow has no page to open: \(String(decoding: flow.encoded(), as: UTF8.self))")
    }
    return url
  }

  /// Waits until the flow is at the capture page.
  private func atCapture(_ flow: JSONValue) throws -> JSONValue {
    var flow = flow
    let client = try daemon.client()
    try eventually("the flow is at the capture page") {
      flow = try client.flow(in: client.call("flow.get", ["flow": flow["id"] ?? .null]))
      return flow["state"] == "kyc" && flow["step"]?["type"] == "openURL"
    }
    return flow
  }

  @Test("a GoPay verification succeeds after phone, code, a wrong and the right PIN, card and face")
  func wholeWay() throws {
    let (flow, login) = try start([
      "credentialReceiver": "exchange", "locale": "en",
      "returnUrl": .string("\(sandbox.base)/outbox"),
    ])
    let done = try Browser.visit(login, .gopay)
    #expect(done.url.hasPrefix("http://127.0.0.1:") && done.url.hasSuffix("/callback"))
    #expect(!done.text.contains("gac_"), "\(done.text)")
    let back = try Browser.visit(page(of: atCapture(flow)), .capture)
    #expect(back.url == "\(sandbox.base)/outbox")
    let end = try daemon.client().finished(flow)
    #expect(end["status"] == "succeeded")
    #expect(try !daemon.client().accessToken("gopay").isEmpty)
  }

  @Test("declining at the GoPay sign-in page ends the verification with denied and GPE-2207")
  func declined() throws {
    let (flow, login) = try start(["credentialReceiver": "exchange"])
    _ = try Browser.visit(login, .gopay, .deny)
    let end = try daemon.client().finished(flow)
    #expect(end["failure"]?["reason"] == "denied")
    #expect(end["failure"]?["provider"]?["code"] == "GPE-2207")
  }

  @Test(
    "cancelling at the GoPay capture page ends the verification with GPE-2207 and USER_CANCELLED")
  func givenUp() throws {
    let (flow, capture) = try start([
      "credentialReceiver": "none", "token": "alice-long-term",
    ])
    let shown = try Browser.visit(capture, .capture, .deny)
    #expect(shown.title.contains("Not submitted"), "\(shown.title)")
    let end = try daemon.client().finished(flow)
    #expect(end["failure"]?["provider"]?["code"] == "GPE-2207")
    #expect(end["failure"]?["provider"]?["error"] == "USER_CANCELLED")
  }
}
