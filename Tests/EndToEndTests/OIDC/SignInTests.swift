import JSONRPC
import Testing
import UsherTestKit

@Suite("OIDC sign-in with a browser", .mayBlock, .timeLimit(.minutes(10)))
struct SignInTests {
  let fixture: OIDCFixture

  init() throws { fixture = try OIDCFixture() }

  @Test("a sign-in in the browser ends at the loopback listener, and the app gets a working token")
  func loopback() throws {
    let clock = MovableClock()
    let fixture = try OIDCFixture(clock)
    // While time stands still, the page waits for the outcome, however long it takes.
    clock.stop()
    let flow = try fixture.app.startFlow()
    #expect(flow["step"]?["type"] == "openURL")
    #expect(flow["step"]?["completes"] == "loopback")
    #expect(flow.redirectURI.hasPrefix("http://127.0.0.1:"))
    let page = try Person.signIn(at: flow.url)
    #expect(page.status == 200)
    #expect(page.text.contains("Signed in"))
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "succeeded")
    #expect(end["step"] == .null)
    let token = try fixture.token()
    #expect(token["account"] == end["result"]?["account"])
    #expect(token["tokenType"]?.stringValue?.lowercased() == "bearer")
    #expect(token["scope"] == "openid profile offline_access")
    #expect(try fixture.userinfo(token["accessToken"]).status == 200)
    let byAccount = try fixture.token(["account": token["account"] ?? .null])
    #expect(byAccount == token)
    #expect(try fixture.sandbox.requests("token") == 1)
  }

  @Test("account.get and token.list describe the person and the grant, and contain no token")
  func profile() throws {
    let end = try fixture.app.signIn()
    let account = try fixture.app.call(
      "account.get", ["account": end["result"]?["account"] ?? .null])["account"]
    #expect(account?["subject"] == "usr_alice")
    #expect(account?["provider"] == "demo")
    #expect(account?["label"] == account?["profile"]?["name"])
    #expect(account?["profile"]?["preferred_username"] == "alice")
    #expect(account?["tokens"]?[0]?["status"] == "valid")
    #expect(account?["tokens"]?[0]?["scope"] == "openid profile offline_access")
    let tokens = try fixture.app.call("token.list", [:])
    #expect(tokens["tokens"]?.arrayValue?.map { $0["token"]?["field"] } == [nil, "idToken"])
    #expect(account?.hasSecret == false)
    #expect(!tokens.hasSecret)
    #expect(!end.hasSecret)
  }

  @Test("a sign-in succeeds if the app submits the redirect URL instead of the browser opening it")
  func pasted() throws {
    let flow = try fixture.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url).location)
    // With the white space that terminals and mail programs add.
    let end = try fixture.app.finished(fixture.submit(" \(back)\n", to: flow))
    #expect(end["status"] == "succeeded")
    #expect(try fixture.token()["account"] == end["result"]?["account"])
    try eventually("the redirect port is closed") { (try? Web.get(flow.redirectURI)) == nil }
  }

  @Test("a denied consent ends the flow with denied and the provider's code access_denied")
  func denied() throws {
    let end = try fixture.attempt(allow: false)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "denied")
    #expect(end.failure["provider"]?["code"] == "access_denied")
    #expect(try fixture.accounts.isEmpty)
    #expect(try fixture.sandbox.requests("token") == 0)
  }

  @Test(
    "token.get by provider is refused if there are two accounts, and each account gets its own token"
  )
  func severalAccounts() throws {
    let alice = try fixture.app.signIn(user: "alice")
    let bob = try fixture.app.signIn(user: "bob")
    let error = try fixture.app.error(of: "token.get", ["provider": "demo"])
    #expect(error.data["reason"] == "invalid_params")
    #expect(error.data["field"] == "account")
    let tokens = try [alice, bob].map {
      try fixture.token(["account": $0["result"]?["account"] ?? .null])
    }
    #expect(tokens[0]["accessToken"] != tokens[1]["accessToken"])
    let seen = try fixture.userinfo(tokens[1]["accessToken"]).text
    #expect(seen.contains("usr_bob"))
  }

  @Test("token.get before any sign-in names the flow.start call that signs in, and that call works")
  func nobody() throws {
    let error = try fixture.app.error(of: "token.get", ["provider": "demo"])
    #expect(error["code"] == 1101)
    #expect(error.data["reason"] == "interaction_required")
    #expect(error.data["next"]?["method"] == "flow.start")
    let params = try #require(error.data["next"]?["params"])
    #expect(params["provider"] == "demo")
    let flow = try fixture.app.call("flow.start", params)["flow"] ?? .null
    let shown = try fixture.moved(flow, "shows a page") { !$0.url.isEmpty }
    try Person.signIn(at: shown.url)
    #expect(try fixture.app.finished(shown)["status"] == "succeeded")
    #expect(try fixture.token()["scope"] == "openid profile offline_access")
  }

  @Test("a second sign-in of the same person keeps the account, with new tokens and the new scope")
  func again() throws {
    let first = try fixture.app.signIn()
    let before = try fixture.token()
    let end = try fixture.attempt(params: ["scope": "openid email offline_access"])
    #expect(end["result"]?["account"] == first["result"]?["account"])
    #expect(try fixture.accounts.count == 1)
    let after = try fixture.token()
    #expect(after["accessToken"] != before["accessToken"])
    #expect(after["scope"] == "openid email offline_access")
    #expect(try fixture.accounts[0]["profile"]?["email"]?.stringValue != nil)
  }

  @Test("a sign-in of another person than the named account fails, and the new tokens are revoked")
  func otherPerson() throws {
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let before = try fixture.token()
    let end = try fixture.attempt(user: "bob", params: ["account": account])
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "provider_rejected")
    #expect(!end.hasSecret)
    #expect(try fixture.accounts.count == 1)
    try eventually("the daemon revokes the tokens") { try fixture.revocations > 0 }
    #expect(try fixture.token() == before)
    #expect(try fixture.userinfo(before["accessToken"]).status == 200)
  }
}
