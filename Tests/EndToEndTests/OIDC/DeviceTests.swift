import JSONRPC
import Testing
import UsherTestKit

@Suite("signing in on another device", .mayBlock, .timeLimit(.minutes(10)))
struct DeviceTests {
  let scene: Scene
  private let clock = MovableClock()

  init() throws { scene = try Scene(clock) }

  private func begin() throws -> JSONValue {
    let flow = try scene.app.startFlow("demo", "device")
    #expect(flow["step"]?["type"] == "displayCode")
    #expect(flow["state"] == "authorization_pending")
    return flow
  }

  @Test("a person enters the code elsewhere, and the app gets a token")
  func allowed() throws {
    let flow = try begin()
    #expect(flow["step"]?["expiresAt"]?.stringValue != nil)
    let complete = flow["step"]?["verificationURIComplete"]?.stringValue ?? ""
    #expect(complete.contains(flow["step"]?["userCode"]?.stringValue ?? "-"))
    let page = try Person.decide(
      at: flow["step"]?["verificationURI"]?.stringValue ?? "",
      userCode: flow["step"]?["userCode"]?.stringValue)
    #expect(page.status == 200)
    let end = try scene.app.finished(flow, moving: clock)
    #expect(end["status"] == "succeeded")
    #expect(try scene.userinfo(scene.token()["accessToken"]).status == 200)
    #expect(try scene.accounts[0]["subject"] == "usr_alice")
  }

  @Test("a displayed code takes no input, and is gone when the flow is cancelled")
  func cancelled() throws {
    let flow = try begin()
    let error = try scene.app.error(
      of: "flow.submit", scene.submission("http://127.0.0.1/", to: flow))
    #expect(error.data["reason"] == "unexpected_input")
    let end = try scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null])["flow"]
    #expect(end?["failure"]?["reason"] == "cancelled")
    #expect(end?["step"] == .null)
  }
}
