import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "a provider that fails while somebody signs in", .mayBlock, .timeLimit(.minutes(10)))
struct ProviderFaultTests {
  let scene: Scene

  init() throws { scene = try Scene(provider: "request_timeout_seconds = 1") }

  // MARK: The code's exchange

  @Test(
    "down while the code is redeemed: a problem, and a new page, for the code may be spent",
    arguments: ProviderFault.passing)
  func exchangeDown(_ fault: ProviderFault) throws {
    try scene.spoil("token", fault.json, times: 1)
    let flow = try scene.app.startFlow()
    try Person.signIn(at: flow.url)
    let again = try scene.moved(flow, "shows another page") {
      !$0.url.isEmpty && $0.url != flow.url
    }
    scene.expectProblem(again)
    try Person.signIn(at: again.url)
    let end = try scene.app.finished(again)
    #expect(end["status"] == "succeeded")
    #expect(end["problem"] == .null)
  }

  @Test("down for three codes in a row, it is given up")
  func exchangeDownForGood() throws {
    try scene.spoil("token", ["status": 503])
    var flow = try scene.app.startFlow()
    for _ in 0..<3 {
      let url = flow.url
      try Person.signIn(at: url)
      flow = try scene.moved(flow, "goes on") {
        $0["status"] != "active" || (!$0.url.isEmpty && $0.url != url)
      }
    }
    #expect(flow["status"] == "failed")
    #expect(flow.failure["reason"] == "provider_unreachable")
    #expect(flow.failure["retryable"] == true)
    #expect(try scene.sandbox.requests("token") == 3)
  }

  @Test("tokens that cannot be read end the flow", arguments: ProviderFault.lasting)
  func exchangeUnusable(_ fault: ProviderFault) throws {
    try scene.spoil("token", fault.json)
    scene.expectProtocolError(try scene.attempt())
    #expect(try scene.sandbox.requests("token") == 1)
    try scene.mend()
    try scene.app.signIn()
  }

  // MARK: Keys and profile

  @Test(
    "down when the keys are needed: a problem, and no second code",
    arguments: ProviderFault.passing)
  func keysDown(_ fault: ProviderFault) throws {
    try scene.spoil("jwks", fault.json, times: 1)
    let flow = try scene.app.startFlow()
    // Handed in by the app: a browser's page waits until the trouble is over.
    let back = try #require(try Person.decide(at: flow.url).location)
    let sent = try scene.submit(back, to: flow)
    let troubled = try scene.moved(sent, "has a problem") { $0["problem"] != .null }
    scene.expectProblem(troubled)
    #expect(try scene.app.finished(troubled)["status"] == "succeeded")
    #expect(try scene.sandbox.requests("token") == 1)
    #expect(try scene.sandbox.requests("jwks") == 2)
  }

  @Test(
    "keys that cannot be read end the flow, and the tokens are taken back",
    arguments: ProviderFault.lasting)
  func keysUnusable(_ fault: ProviderFault) throws {
    try scene.spoil("jwks", fault.json)
    scene.expectProtocolError(try scene.attempt())
    try eventually("the grant is revoked") { try scene.revocations > 0 }
    #expect(try scene.accounts.isEmpty)
  }

  @Test(
    "without a profile a person is signed in all the same",
    arguments: ProviderFault.passing.prefix(4) + ProviderFault.lasting)
  func userinfo(_ fault: ProviderFault) throws {
    try scene.spoil("userinfo", fault.json)
    #expect(try scene.attempt()["status"] == "succeeded")
    #expect(try scene.accounts[0]["subject"] == "usr_alice")
  }

  // MARK: The device flow

  private func enter(_ flow: JSONValue) throws {
    _ = try Person.decide(
      at: flow["step"]?["verificationURI"]?.stringValue ?? "",
      userCode: flow["step"]?["userCode"]?.stringValue)
  }

  @Test(
    "down while a device polls: a problem, and it goes on polling",
    arguments: [ProviderFault.passing[1], .passing[4]])
  func pollDown(_ fault: ProviderFault) throws {
    try scene.set(["deviceInterval": 0])
    try scene.spoil("token", fault.json, times: 1)
    let flow = try scene.app.startFlow("demo", "device")
    let troubled = try scene.moved(flow, "has a problem") { $0["problem"] != .null }
    scene.expectProblem(troubled)
    #expect(troubled["step"] == flow["step"])
    try enter(flow)
    #expect(try scene.app.finished(troubled)["status"] == "succeeded")
  }

  @Test("tokens that are lost on their way to a polling device need a new code")
  func pollLost() throws {
    try scene.set(["deviceInterval": 0])
    let flow = try scene.app.startFlow("demo", "device")
    try scene.spoil("token", ["reset": true, "processed": true], times: 1)
    try enter(flow)
    let again = try scene.moved(flow, "shows another code") {
      $0["step"]?["type"] == "displayCode" && $0["step"] != flow["step"]
    }
    #expect(again["problem"]?["reason"] == "interrupted")
    try enter(again)
    #expect(try scene.app.finished(again)["status"] == "succeeded")
  }

  @Test("a flow whose provider is gone can be cancelled at once")
  func cancelled() throws {
    try scene.spoil("*", ["delayMs": 60_000])
    let flow = try scene.start()
    let end = try scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null], within: 20)["flow"]
    #expect(end?["status"] == "cancelled")
    scene.sandbox.killAtOnce()
    let second = try scene.start()
    let troubled = try scene.moved(second, "has a problem") { $0["problem"] != .null }
    scene.expectProblem(troubled)
    #expect(
      try scene.app.call("flow.cancel", ["flow": second["id"] ?? .null])["flow"]?["status"]
        == "cancelled")
    let status = try scene.app.call("system.status", [:])
    #expect(status["providers"]?[0]?["health"] == "failing")
  }
}
