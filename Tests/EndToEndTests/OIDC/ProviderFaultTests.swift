import JSONRPC
import Testing
import UsherTestKit

/// One fault for each call of a sign-in. Which faults pass and which end the flow is in the tables
/// of UsherFlowsTests, and which connection has failed in `ProviderHTTPOutcomeTests`.
@Suite(
  "a provider that fails while somebody signs in", .mayBlock, .timeLimit(.minutes(10)))
struct ProviderFaultTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws { fixture = try OIDCFixture(clock) }

  // MARK: Metadata

  @Test("down at discovery: a problem, and then the page; one of the two documents is enough")
  func discoveryDown() throws {
    try fixture.spoil("discovery", ["reset": true], times: 2)
    let troubled = try fixture.moved(fixture.start(), "has a problem") { $0["problem"] != .null }
    fixture.expectProblem(troubled)
    try fixture.spoil("discovery", ["status": 500], times: 1)
    try clock.advance(by: 5)
    let shown = try fixture.moved(troubled, "shows a page") { !$0.url.isEmpty }
    #expect(shown["problem"] == .null)
    try Person.signIn(at: shown.url)
    #expect(try fixture.app.finished(shown)["status"] == "succeeded")
  }

  @Test("metadata that cannot be used ends the flow, and is not remembered")
  func discoveryUnusable() throws {
    try fixture.set(["discovery": ["issuer": "https://evil.example.com"]])
    fixture.expectProtocolError(try fixture.app.finished(fixture.start()))
    try fixture.mend()
    try fixture.spoil("discovery", ["hugeBody": 2_000_000])
    fixture.expectProtocolError(try fixture.app.finished(fixture.start()))
    #expect(try fixture.sandbox.requests("authorize") == 0)
    try fixture.mend()
    try fixture.app.signIn()
  }

  @Test("a media type that is not JSON's is forgiven where the text is JSON")
  func contentType() throws {
    for endpoint in ["discovery", "token", "jwks", "userinfo"] {
      try fixture.spoil(endpoint, ["contentType": "text/html"])
    }
    try fixture.app.signIn()
    #expect(try fixture.accounts[0]["profile"]?["name"]?.stringValue != nil)
  }

  // MARK: The code's exchange

  @Test("down while the code is redeemed: a problem, and a new page, for the code may be spent")
  func exchangeDown() throws {
    try fixture.spoil("token", ["halfBody": true], times: 1)
    let flow = try fixture.app.startFlow()
    try Person.signIn(at: flow.url)
    let again = try fixture.moved(flow, "shows another page") {
      !$0.url.isEmpty && $0.url != flow.url
    }
    fixture.expectProblem(again)
    try Person.signIn(at: again.url)
    let end = try fixture.app.finished(again)
    #expect(end["status"] == "succeeded")
    #expect(end["problem"] == .null)
  }

  @Test("tokens that cannot be read end the flow")
  func exchangeUnusable() throws {
    try fixture.spoil("token", ["brokenJSON": true])
    fixture.expectProtocolError(try fixture.attempt())
    #expect(try fixture.sandbox.requests("token") == 1)
    try fixture.mend()
    try fixture.app.signIn()
  }

  // MARK: Keys and profile

  @Test("down when the keys are needed: a problem, and no second code")
  func keysDown() throws {
    try fixture.spoil("jwks", ["status": 503], times: 1)
    let flow = try fixture.app.startFlow()
    // Handed in by the app: a browser's page waits until the trouble is over.
    let back = try #require(try Person.decide(at: flow.url).location)
    let sent = try fixture.submit(back, to: flow)
    let troubled = try fixture.moved(sent, "has a problem") { $0["problem"] != .null }
    fixture.expectProblem(troubled)
    #expect(try fixture.app.finished(troubled, moving: clock)["status"] == "succeeded")
    #expect(try fixture.sandbox.requests("token") == 1)
    #expect(try fixture.sandbox.requests("jwks") == 2)
  }

  @Test("keys behind a redirect end the flow, and the tokens are taken back")
  func keysUnusable() throws {
    try fixture.spoil("jwks", ["status": 302])
    fixture.expectProtocolError(try fixture.attempt())
    try eventually("the grant is revoked") { try fixture.revocations > 0 }
    #expect(try fixture.accounts.isEmpty)
  }

  @Test("without a profile a person is signed in all the same")
  func userinfo() throws {
    try fixture.spoil("userinfo", ["reset": true])
    #expect(try fixture.attempt()["status"] == "succeeded")
    #expect(try fixture.accounts[0]["subject"] == "usr_alice")
  }

  @Test("a flow whose provider is gone can be cancelled at once")
  func cancelled() throws {
    // The daemon would wait for longer than the call may take.
    let fixture = try OIDCFixture(clock, requestTimeout: 120)
    try fixture.spoil("*", ["delayMs": 600_000])
    let flow = try fixture.start()
    let end = try fixture.app.call("flow.cancel", ["flow": flow["id"] ?? .null], within: 60)["flow"]
    #expect(end?["status"] == "cancelled")
    fixture.sandbox.killAtOnce()
    let second = try fixture.start()
    let troubled = try fixture.moved(second, "has a problem") { $0["problem"] != .null }
    fixture.expectProblem(troubled)
    #expect(
      try fixture.app.call("flow.cancel", ["flow": second["id"] ?? .null])["flow"]?["status"]
        == "cancelled")
    let status = try fixture.app.call("system.status", [:])
    #expect(status["providers"]?[0]?["health"] == "failing")
  }
}
