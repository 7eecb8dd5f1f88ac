import JSONRPC
import Testing
import UsherTestKit

/// A site that requests a sign-in by BSA, in a real browser, and the flow that answers as the
/// device.
@Suite(
  "A BSA site in a real browser", .mayBlock, .serialized, .timeLimit(.minutes(10)),
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct BSAPageTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let app: RawClient

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(
      config: """
        [[provider]]
        name = "bsa"
        type = "bsa"
        base_url = "\(sandbox.base)/bsa"
        client_key_credential = "bsa-client-key"
        app_package = "com.example.app"
        app_version = "1.0.0"
        allow_no_local_auth = true
        poll_seconds = 1

        """)
    app = try daemon.client()
    try daemon.setCredential("bsa-client-key", "s3cret:bsa/client-key")
  }

  /// Registers Alice with the code of an e-mail.
  private func register() throws -> JSONValue {
    let flow = try app.startFlow(
      "bsa", "register",
      params: [
        "email": "alice@example.com", "phoneNumber": "+447700900123", "userKey": "alice.01",
        "name": "Alice Adams", "authType": "none", "agreeGccs": true, "agreePerson": true,
        "agreeDevice": true,
      ])
    let sent = try sandbox.control("GET", "outbox")["messages"]?.arrayValue?.first
    let typed = try app.call(
      "flow.submit",
      [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
        "input": ["type": "enterCode", "code": sent?["code"] ?? .null],
      ])
    return try app.finished(app.flow(in: typed))
  }

  @Test(
    "a BSA site refuses an unknown user key and signs in with the right one; the app gets a token")
  func signsIn() throws {
    #expect(try register()["status"] == "succeeded")
    let flow = try app.flow(
      in: app.call("flow.start", ["provider": "bsa", "kind": "authenticate", "params": [:]]))
    let page = try Browser.visit("\(sandbox.base)/bsa/site", .bsa, userCode: "alice.01")
    #expect(page.text.contains("You are signed in as alice.01, Alice Adams."), "\(page.text)")
    #expect(try app.finished(flow)["status"] == "succeeded")
    #expect(try !app.accessToken("bsa").isEmpty)
  }
}
