import JSONRPC
import Testing
import UsherTestKit

/// One fault for each provider request of a sign-in. The tables of UsherFlowsTests cover which
/// faults are temporary and which end the flow; `ProviderHTTPOutcomeTests` covers which connection
/// has failed.
@Suite(
  "Provider faults during a sign-in", .mayBlock, .timeLimit(.minutes(10)))
struct ProviderFaultTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws { fixture = try OIDCFixture(clock) }

  // MARK: Metadata

  @Test(
    "a flow reports failing discovery as a problem, and continues when one metadata document loads")
  func discoveryDown() throws {
    try fixture.spoil("discovery", ["reset": true], times: 2)
    // The next attempt is held, so that the flow has its problem until the test has seen it.
    try fixture.spoil("discovery", ["held": true, "status": 500], times: 1)
    let troubled = try fixture.moved(fixture.start(), "has a problem") { $0["problem"] != .null }
    fixture.expectProblem(troubled)
    // The documents are fetched at the same time.
    try eventually("the next attempt is held") { try fixture.requests("discovery") == 4 }
    try fixture.sandbox.release()
    let shown = try fixture.moved(troubled, "shows a page") { !$0.url.isEmpty }
    #expect(shown["problem"] == .null)
    try Person.signIn(at: shown.url)
    #expect(try fixture.app.finished(shown)["status"] == "succeeded")
  }

  @Test("unusable provider metadata ends the flow, and is not cached for the next flow")
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

  @Test("a sign-in succeeds although the provider sends its JSON as text/html")
  func contentType() throws {
    for endpoint in ["discovery", "token", "jwks", "userinfo"] {
      try fixture.spoil(endpoint, ["contentType": "text/html"])
    }
    try fixture.app.signIn()
    #expect(try fixture.accounts[0]["profile"]?["name"]?.stringValue != nil)
  }

  // MARK: The code's exchange

  @Test(
    "a flow whose code exchange fails reports a problem and asks for a new sign-in, which succeeds")
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

  @Test("an unreadable token reply ends the flow, and the token request is not repeated")
  func exchangeUnusable() throws {
    try fixture.spoil("token", ["brokenJSON": true])
    fixture.expectProtocolError(try fixture.attempt())
    #expect(try fixture.sandbox.requests("token") == 1)
    try fixture.mend()
    try fixture.app.signIn()
  }

  // MARK: Keys and profile

  @Test(
    "a flow that cannot fetch the keys reports a problem, retries, and redeems its code only once")
  func keysDown() throws {
    try fixture.spoil("jwks", ["status": 503], times: 1)
    // The next attempt is held, so that the flow has its problem until the test has seen it.
    try fixture.sandbox.hold("jwks")
    let flow = try fixture.app.startFlow()
    // The app submits the redirect, because a browser's page would wait until the fault is over.
    let back = try #require(try Person.decide(at: flow.url).location)
    let sent = try fixture.submit(back, to: flow)
    let troubled = try fixture.moved(sent, "has a problem") { $0["problem"] != .null }
    fixture.expectProblem(troubled)
    try fixture.sandbox.release()
    #expect(try fixture.app.finished(troubled)["status"] == "succeeded")
    #expect(try fixture.sandbox.requests("token") == 1)
    #expect(try fixture.sandbox.requests("jwks") == 2)
  }

  @Test("a redirect at the keys endpoint ends the flow, and the tokens are revoked")
  func keysUnusable() throws {
    try fixture.spoil("jwks", ["status": 302])
    fixture.expectProtocolError(try fixture.attempt())
    try eventually("the daemon revokes the grant") { try fixture.revocations > 0 }
    #expect(try fixture.accounts.isEmpty)
  }

  @Test("a sign-in succeeds although the userinfo endpoint fails")
  func userinfo() throws {
    try fixture.spoil("userinfo", ["reset": true])
    #expect(try fixture.attempt()["status"] == "succeeded")
    #expect(try fixture.accounts[0]["subject"] == "usr_alice")
  }

  @Test(
    "a flow whose provider does not answer can be cancelled at once, and status reports the provider"
  )
  func cancelled() throws {
    // The daemon's time-out is longer than the call may take, also on the slowest machine that
    // `TestDeadline` allows for.
    let silent = try OIDCFixture(clock, requestTimeout: 120)
    try silent.spoil("*", ["held": true])
    let flow = try silent.start()
    try eventually("the provider has the request") { try silent.requests("discovery") > 0 }
    let end = try silent.app.call("flow.cancel", ["flow": flow["id"] ?? .null], within: 20)["flow"]
    #expect(end?["status"] == "cancelled")
    try silent.sandbox.release()
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
