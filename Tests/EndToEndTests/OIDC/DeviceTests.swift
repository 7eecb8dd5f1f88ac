import JSONRPC
import Testing
import UsherTestKit

@Suite("OIDC device flow", .mayBlock, .timeLimit(.minutes(10)))
struct DeviceTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws { fixture = try OIDCFixture(clock) }

  private func begin() throws -> JSONValue {
    let flow = try fixture.app.startFlow("demo", "device")
    #expect(flow["step"]?["type"] == "displayCode")
    #expect(flow["state"] == "authorization_pending")
    return flow
  }

  @Test(
    "a device flow succeeds after the person entered the code elsewhere, and the app gets a token")
  func allowed() throws {
    let flow = try begin()
    #expect(flow["step"]?["expiresAt"]?.stringValue != nil)
    let complete = flow["step"]?["verificationURIComplete"]?.stringValue ?? ""
    #expect(complete.contains(flow["step"]?["userCode"]?.stringValue ?? "-"))
    let page = try Person.decide(
      at: flow["step"]?["verificationURI"]?.stringValue ?? "",
      userCode: flow["step"]?["userCode"]?.stringValue)
    #expect(page.status == 200)
    let end = try fixture.app.finished(flow, moving: clock)
    #expect(end["status"] == "succeeded")
    #expect(try fixture.userinfo(fixture.token()["accessToken"]).status == 200)
    #expect(try fixture.accounts[0]["subject"] == "usr_alice")
  }

  @Test("a device flow that displays its code refuses input, and shows no code after flow.cancel")
  func cancelled() throws {
    let flow = try begin()
    let error = try fixture.app.error(
      of: "flow.submit", fixture.submission("http://127.0.0.1/", to: flow))
    #expect(error.data["reason"] == "unexpected_input")
    let end = try fixture.app.call("flow.cancel", ["flow": flow["id"] ?? .null])["flow"]
    #expect(end?["failure"]?["reason"] == "cancelled")
    #expect(end?["step"] == .null)
  }
}
