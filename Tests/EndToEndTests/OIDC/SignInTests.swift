import JSONRPC
import Testing
import UsherTestKit

@Suite("signing in with a browser", .mayBlock, .timeLimit(.minutes(10)))
struct SignInTests {
  let scene: Scene

  init() throws { scene = try Scene() }

  @Test("a person walks the pages, the browser comes back, the app gets a token")
  func loopback() throws {
    let flow = try scene.app.startFlow()
    #expect(flow["step"]?["type"] == "openURL")
    #expect(flow["step"]?["completes"] == "loopback")
    #expect(flow.redirectURI.hasPrefix("http://127.0.0.1:"))
    let page = try Person.signIn(at: flow.url)
    #expect(page.status == 200)
    #expect(page.text.contains("Signed in"))
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "succeeded")
    #expect(end["step"] == .null)
    let token = try scene.token()
    #expect(token["account"] == end["result"]?["account"])
    #expect(token["tokenType"]?.stringValue?.lowercased() == "bearer")
    #expect(token["scope"] == "openid profile offline_access")
    #expect(try scene.userinfo(token["accessToken"]).status == 200)
    let byAccount = try scene.token(["account": token["account"] ?? .null])
    #expect(byAccount == token)
    #expect(try scene.sandbox.requests("token") == 1)
  }

  @Test("the account tells who it is, and no token")
  func profile() throws {
    let end = try scene.app.signIn()
    let account = try scene.app.call(
      "account.get", ["account": end["result"]?["account"] ?? .null])["account"]
    #expect(account?["subject"] == "usr_alice")
    #expect(account?["provider"] == "demo")
    #expect(account?["label"] == account?["profile"]?["name"])
    #expect(account?["profile"]?["preferred_username"] == "alice")
    #expect(account?["tokens"]?[0]?["status"] == "valid")
    #expect(account?["tokens"]?[0]?["scope"] == "openid profile offline_access")
    let tokens = try scene.app.call("token.list", [:])
    #expect(tokens["tokens"]?.arrayValue?.count == 1)
    #expect(account?.hasSecret == false)
    #expect(!tokens.hasSecret)
    #expect(!end.hasSecret)
  }

  @Test("the address the browser ended at may be pasted instead")
  func pasted() throws {
    let flow = try scene.app.startFlow()
    let back = try #require(try Person.decide(at: flow.url).location)
    // As terminals and mail programs wrap it.
    let end = try scene.submit(" \(back)\n", to: flow, waitMs: 20_000)
    #expect(end["status"] == "succeeded")
    #expect(try scene.token()["account"] == end["result"]?["account"])
    try eventually("the port is closed") { (try? Web.get(flow.redirectURI)) == nil }
  }

  @Test("whoever says no at the provider ends the flow with the provider's word")
  func denied() throws {
    let end = try scene.attempt(allow: false)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "denied")
    #expect(end.failure["provider"]?["code"] == "access_denied")
    #expect(try scene.accounts.isEmpty)
    #expect(try scene.sandbox.requests("token") == 0)
  }

  @Test("one of several accounts must be named")
  func severalAccounts() throws {
    let alice = try scene.app.signIn(user: "alice")
    let bob = try scene.app.signIn(user: "bob")
    let error = try scene.app.error(of: "token.get", ["provider": "demo"])
    #expect(error.data["reason"] == "invalid_params")
    #expect(error.data["field"] == "account")
    let tokens = try [alice, bob].map {
      try scene.token(["account": $0["result"]?["account"] ?? .null])
    }
    #expect(tokens[0]["accessToken"] != tokens[1]["accessToken"])
    let seen = try scene.userinfo(tokens[1]["accessToken"]).text
    #expect(seen.contains("usr_bob"))
  }

  @Test("where nobody has signed in, the error says which call mends it")
  func nobody() throws {
    let error = try scene.app.error(of: "token.get", ["provider": "demo"])
    #expect(error["code"] == 1101)
    #expect(error.data["reason"] == "interaction_required")
    #expect(error.data["next"]?["method"] == "flow.start")
    let params = try #require(error.data["next"]?["params"])
    #expect(params["provider"] == "demo")
    let flow = try scene.app.call("flow.start", params)["flow"] ?? .null
    let shown = try scene.moved(flow, "shows a page") { !$0.url.isEmpty }
    try Person.signIn(at: shown.url)
    #expect(try scene.app.finished(shown)["status"] == "succeeded")
    #expect(try scene.token()["scope"] == "openid profile offline_access")
  }

  @Test("the same person again is the same account, with new tokens and the newer scope")
  func again() throws {
    let first = try scene.app.signIn()
    let before = try scene.token()
    let end = try scene.attempt(params: ["scope": "openid email offline_access"])
    #expect(end["result"]?["account"] == first["result"]?["account"])
    #expect(try scene.accounts.count == 1)
    let after = try scene.token()
    #expect(after["accessToken"] != before["accessToken"])
    #expect(after["scope"] == "openid email offline_access")
    #expect(try scene.accounts[0]["profile"]?["email"]?.stringValue != nil)
  }

  @Test("somebody else than the named account is refused, and his tokens are taken back")
  func otherPerson() throws {
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    let before = try scene.token()
    let end = try scene.attempt(user: "bob", params: ["account": account])
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "provider_rejected")
    #expect(!end.hasSecret)
    #expect(try scene.accounts.count == 1)
    try eventually("the tokens are revoked") { try scene.revocations > 0 }
    #expect(try scene.token() == before)
    #expect(try scene.userinfo(before["accessToken"]).status == 200)
  }
}
