import JSONRPC
import Testing
import UsherTestKit

/// One fault for each call of a sign-in. Which faults pass and which end the flow is in the tables
/// of UsherFlowsTests, and which connection has failed in `ProviderHTTPOutcomeTests`.
@Suite(
  "a provider that fails while somebody signs in", .mayBlock, .timeLimit(.minutes(10)))
struct ProviderFaultTests {
  let scene: Scene
  private let clock = MovableClock()

  init() throws { scene = try Scene(clock) }

  // MARK: Metadata

  @Test("down at discovery: a problem, and then the page; one of the two documents is enough")
  func discoveryDown() throws {
    try scene.spoil("discovery", ["reset": true], times: 2)
    let troubled = try scene.moved(scene.start(), "has a problem") { $0["problem"] != .null }
    scene.expectProblem(troubled)
    try scene.spoil("discovery", ["status": 500], times: 1)
    try clock.advance(by: 5)
    let shown = try scene.moved(troubled, "shows a page") { !$0.url.isEmpty }
    #expect(shown["problem"] == .null)
    try Person.signIn(at: shown.url)
    #expect(try scene.app.finished(shown)["status"] == "succeeded")
  }

  @Test("metadata that cannot be used ends the flow, and is not remembered")
  func discoveryUnusable() throws {
    try scene.set(["discovery": ["issuer": "https://evil.example.com"]])
    scene.expectProtocolError(try scene.app.finished(scene.start()))
    try scene.mend()
    try scene.spoil("discovery", ["hugeBody": 2_000_000])
    scene.expectProtocolError(try scene.app.finished(scene.start()))
    #expect(try scene.sandbox.requests("authorize") == 0)
    try scene.mend()
    try scene.app.signIn()
  }

  @Test("a media type that is not JSON's is forgiven where the text is JSON")
  func contentType() throws {
    for endpoint in ["discovery", "token", "jwks", "userinfo"] {
      try scene.spoil(endpoint, ["contentType": "text/html"])
    }
    try scene.app.signIn()
    #expect(try scene.accounts[0]["profile"]?["name"]?.stringValue != nil)
  }

  // MARK: The code's exchange

  @Test("down while the code is redeemed: a problem, and a new page, for the code may be spent")
  func exchangeDown() throws {
    try scene.spoil("token", ["halfBody": true], times: 1)
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

  @Test("tokens that cannot be read end the flow")
  func exchangeUnusable() throws {
    try scene.spoil("token", ["brokenJSON": true])
    scene.expectProtocolError(try scene.attempt())
    #expect(try scene.sandbox.requests("token") == 1)
    try scene.mend()
    try scene.app.signIn()
  }

  // MARK: Keys and profile

  @Test("down when the keys are needed: a problem, and no second code")
  func keysDown() throws {
    try scene.spoil("jwks", ["status": 503], times: 1)
    let flow = try scene.app.startFlow()
    // Handed in by the app: a browser's page waits until the trouble is over.
    let back = try #require(try Person.decide(at: flow.url).location)
    let sent = try scene.submit(back, to: flow)
    let troubled = try scene.moved(sent, "has a problem") { $0["problem"] != .null }
    scene.expectProblem(troubled)
    #expect(try scene.app.finished(troubled, moving: clock)["status"] == "succeeded")
    #expect(try scene.sandbox.requests("token") == 1)
    #expect(try scene.sandbox.requests("jwks") == 2)
  }

  @Test("keys behind a redirect end the flow, and the tokens are taken back")
  func keysUnusable() throws {
    try scene.spoil("jwks", ["status": 302])
    scene.expectProtocolError(try scene.attempt())
    try eventually("the grant is revoked") { try scene.revocations > 0 }
    #expect(try scene.accounts.isEmpty)
  }

  @Test("without a profile a person is signed in all the same")
  func userinfo() throws {
    try scene.spoil("userinfo", ["reset": true])
    #expect(try scene.attempt()["status"] == "succeeded")
    #expect(try scene.accounts[0]["subject"] == "usr_alice")
  }

  @Test("a flow whose provider is gone can be cancelled at once")
  func cancelled() throws {
    // The daemon would wait for longer than the call may take.
    let scene = try Scene(clock, requestTimeout: 120)
    try scene.spoil("*", ["delayMs": 600_000])
    let flow = try scene.start()
    let end = try scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null], within: 60)["flow"]
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
