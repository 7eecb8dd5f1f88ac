import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The end of a session at the provider (OpenID Connect RP-Initiated Logout 1.0).
@Suite("The end of a session", .mayBlock, .timeLimit(.minutes(10)))
struct EndSessionTests {
  /// A fixture whose app has these rights.
  private func fixture(_ allow: String) throws -> OIDCFixture {
    try OIDCFixture(
      limits: """
        [[client]]
        name = "till"
        match = { user = \(getuid()) }
        allow = [\(allow)]
        """)
  }

  private func begin(_ fixture: OIDCFixture) throws -> JSONValue {
    let flow = try fixture.app.startFlow("demo", "endSession")
    #expect(flow["state"] == "endingSession" && flow["step"]?["type"] == "openURL")
    return flow
  }

  /// Opens the provider's page, and follows the redirect to the daemon.
  private func leave(_ flow: JSONValue) throws -> Web.Reply {
    let back = try #require(try Web.get(flow.url).location)
    return try Web.get(back)
  }

  @Test("the browser ends the session with the ID token as hint; the account stays as it is")
  func whole() throws {
    let fixture = try OIDCFixture()
    try fixture.app.signIn()
    let token = try fixture.token()
    try fixture.set(["requireIDTokenHint": true])
    let flow = try begin(fixture)
    #expect(flow.url.contains("id_token_hint=") && flow.url.contains("state="))
    let page = try leave(flow)
    #expect(page.status == 200 && page.text.contains("Signed out"))
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "succeeded")
    #expect(try fixture.token() == token)
    #expect(!fixture.daemon.log.contains("eyJ"))
  }

  @Test(
    "a program that may not have the ID token gets no hint, and can end the session all the same")
  func withoutHint() throws {
    let fixture = try fixture(#""token.get demo", "flow.*", "account.*""#)
    try fixture.app.signIn()
    let flow = try begin(fixture)
    #expect(!flow.url.contains("id_token_hint") && !flow.text.contains("eyJ"))
    #expect(flow.url.contains("client_id=usher"))
    #expect(try leave(flow).text.contains("Signed out"))
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
  }

  @Test("an issuer that took the place of another one does not get the ID token of the other one")
  func otherIssuer() throws {
    let fixture = try OIDCFixture()
    try fixture.app.signIn()
    let other = try SandboxUnderTest()
    try fixture.daemon.place.write(other.provider(), to: "usherd.toml")
    #expect(try fixture.daemon.admin().call("system.reload")["problems"] == [])
    let flow = try begin(fixture)
    #expect(flow.url.hasPrefix(other.base))
    #expect(!flow.url.contains("id_token_hint") && !flow.text.contains("eyJ"))
  }

  @Test("a redirect with another state does not end the flow, and a pasted address does")
  func state() throws {
    let fixture = try OIDCFixture()
    try fixture.app.signIn()
    let flow = try begin(fixture)
    let back = try #require(try Web.get(flow.url).location)
    let other = try Web.get(flow.redirectURI + "?state=another")
    #expect(other.status == 400)
    #expect(try fixture.submit(back, to: flow)["status"] == "succeeded")
  }

  @Test("the flow ends with an error if the provider names no page, and the account stays")
  func unsupported() throws {
    let fixture = try OIDCFixture()
    try fixture.set(["discovery": ["end_session_endpoint": .null]])
    try fixture.app.signIn()
    let flow = try fixture.app.finished(fixture.app.startFlow("demo", "endSession"))
    #expect(flow.failure["reason"] == "provider_protocol_error")
    #expect(flow.failure["message"]?.stringValue?.contains("end_session") == true)
    #expect(try fixture.accounts.count == 1)
  }

  @Test("a flow that waits for the browser goes on after a restart")
  func restarted() throws {
    let fixture = try OIDCFixture()
    try fixture.app.signIn()
    let flow = try begin(fixture)
    let restarted = try fixture.restarted()
    let again = try restarted.app.flow(
      in: restarted.app.call("flow.get", ["flow": flow["id"] ?? .null]))
    #expect(again["status"] == "active")
    let back = try #require(try Web.get(flow.url).location)
    let end = try restarted.submit(back, to: again)
    #expect(end["status"] == "succeeded")
  }

  @Test("an account is forgotten while its session is being ended")
  func forgotten() throws {
    let fixture = try OIDCFixture()
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let flow = try begin(fixture)
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done")
    #expect(try leave(flow).status == 200)
    #expect(try fixture.app.finished(flow)["status"] != "active")
  }

  @Test("without an account the flow names the sign-in")
  func nobody() throws {
    let fixture = try OIDCFixture()
    let error = try fixture.app.error(
      of: "flow.start", ["provider": "demo", "kind": "endSession", "params": [:]])
    #expect(error.data["reason"] == "interaction_required")
  }

  @Test("usherctl flow run prints the page and waits for the browser")
  func command() throws {
    let fixture = try OIDCFixture()
    try fixture.app.signIn()
    let place = try TemporaryDirectory()
    let program = try RunningProgram(
      BuiltProduct.path("usherctl"),
      ["flow", "run", "demo", "endSession", "--no-browser", "--socket", fixture.daemon.socketPath],
      log: place.file("log"))
    var page = ""
    try eventually("usherctl prints the page's URL: \(program.log)") {
      page = program.log.firstMatch(of: /http:\S+/).map { String($0.0) } ?? ""
      guard !page.isEmpty || program.isRunning else { throw TestError(program.log) }
      return !page.isEmpty
    }
    let back = try #require(try Web.get(page).location)
    #expect(try Web.get(back).status == 200)
    #expect(try program.exitStatus() == 0)
  }
}
