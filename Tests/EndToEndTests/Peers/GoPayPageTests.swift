import JSONRPC
import Testing
import UsherTestKit

/// GoPay's log-in pages and its capture page, in a real browser.
@Suite(
  "GoPay's pages in a browser", .mayBlock, .serialized,
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: Packaging/install-dependencies test must have run"))
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

  /// Starts a verification, up to the log-in page or, with a token, to the capture page.
  private func start(_ params: JSONValue) throws -> (flow: JSONValue, page: String) {
    var params = params
    params["userCorrelationId"] = "corr-5678"
    let client = try daemon.client()
    let flow = try client.flow(
      in: client.call(
        "flow.start",
        [
          "provider": "gopay", "kind": "verify", "requestId": "req-1", "params": params,
          "waitMs": 15_000,
        ]))
    return (flow, try page(of: flow))
  }

  private func page(of flow: JSONValue) throws -> String {
    guard let url = flow["step"]?["url"]?.stringValue else {
      throw TestError("no page to open: \(String(decoding: flow.encoded(), as: UTF8.self))")
    }
    return url
  }

  /// The flow once it is at the capture page.
  private func atCapture(_ flow: JSONValue) throws -> JSONValue {
    var flow = flow
    let client = try daemon.client()
    try eventually("it is at the capture page") {
      flow = try client.flow(in: client.call("flow.get", ["flow": flow["id"] ?? .null]))
      return flow["state"] == "kyc" && flow["step"]?["type"] == "openURL"
    }
    return flow
  }

  @Test("phone, code, a wrong PIN and the right one; then card and face: the person is verified")
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

  @Test("who declines at the log-in page has not verified anything: GPE-2207")
  func declined() throws {
    let (flow, login) = try start(["credentialReceiver": "exchange"])
    _ = try Browser.visit(login, .gopay, .deny)
    let end = try daemon.client().finished(flow)
    #expect(end["failure"]?["reason"] == "denied")
    #expect(end["failure"]?["provider"]?["code"] == "GPE-2207")
  }

  @Test("who gives up at the capture page likewise")
  func givenUp() throws {
    let (flow, capture) = try start([
      "credentialReceiver": "none", "token": "alice-long-term",
    ])
    let shown = try Browser.visit(capture, .capture, .deny)
    #expect(shown.title.contains("Not handed in"), "\(shown.title)")
    let end = try daemon.client().finished(flow)
    #expect(end["failure"]?["provider"]?["code"] == "GPE-2207")
    #expect(end["failure"]?["provider"]?["error"] == "USER_CANCELLED")
  }
}
