import JSONRPC
import Testing
import UsherTestKit

@Suite("signing in on another device", .mayBlock, .timeLimit(.minutes(10)))
struct DeviceTests {
  let scene: Scene

  init() throws { scene = try Scene() }

  private func begin(interval: JSONValue, params: JSONValue = [:]) throws -> JSONValue {
    try scene.set(["deviceInterval": interval])
    let flow = try scene.app.startFlow("demo", "device", params: params)
    #expect(flow["step"]?["type"] == "displayCode")
    #expect(flow["state"] == "authorization_pending")
    return flow
  }

  private func decide(_ flow: JSONValue, user: String = "alice", allow: Bool = true) throws {
    let step = flow["step"]
    let page = try Person.decide(
      at: step?["verificationURI"]?.stringValue ?? "", user: user, allow: allow,
      userCode: step?["userCode"]?.stringValue)
    #expect(page.status == 200)
  }

  @Test("a person enters the code elsewhere, and the app gets a token", arguments: [0, 1])
  func allowed(_ interval: Int64) throws {
    let flow = try begin(interval: .integer(interval))
    #expect(flow["step"]?["expiresAt"]?.stringValue != nil)
    let complete = flow["step"]?["verificationURIComplete"]?.stringValue ?? ""
    #expect(complete.contains(flow["step"]?["userCode"]?.stringValue ?? "-"))
    try decide(flow)
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "succeeded")
    #expect(try scene.userinfo(scene.token()["accessToken"]).status == 200)
    #expect(try scene.accounts[0]["subject"] == "usr_alice")
  }

  @Test("polls do not count as revisions, and the person may take a while")
  func polling() throws {
    let flow = try begin(interval: 1)
    let grant = "urn:ietf:params:oauth:grant-type:device_code"
    try eventually("it polls") { try scene.sandbox.requests("token", grantType: grant) >= 2 }
    #expect(try scene.flow(flow) == flow)
    try decide(flow)
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
  }

  @Test("whoever says no on the other device ends the flow")
  func denied() throws {
    let flow = try begin(interval: 0)
    try decide(flow, allow: false)
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "denied")
    #expect(end.failure["provider"]?["code"] == "access_denied")
  }

  @Test("a code nobody entered in time ends the flow as expired")
  func expired() throws {
    try scene.set(["deviceCodeSeconds": 1])
    let flow = try begin(interval: 1)
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "expired")
    #expect(end.failure["provider"]?["code"] == "expired_token")
  }

  @Test("somebody else than the named account is refused here too")
  func otherPerson() throws {
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    let flow = try begin(interval: 0, params: ["account": account])
    try decide(flow, user: "bob")
    let end = try scene.app.finished(flow)
    #expect(end.failure["reason"] == "provider_rejected")
    #expect(try scene.accounts.count == 1)
    try eventually("the tokens are revoked") { try scene.revocations > 0 }
  }

  @Test("a displayed code takes no input, and is gone when the flow is cancelled")
  func cancelled() throws {
    let flow = try begin(interval: 1)
    let error = try scene.app.error(
      of: "flow.submit", scene.submission("http://127.0.0.1/", to: flow))
    #expect(error.data["reason"] == "unexpected_input")
    let end = try scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null])["flow"]
    #expect(end?["failure"]?["reason"] == "cancelled")
    #expect(end?["step"] == .null)
  }
}
