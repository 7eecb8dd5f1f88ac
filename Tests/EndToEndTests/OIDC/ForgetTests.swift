import JSONRPC
import Testing
import UsherTestKit

@Suite("tokens are given back", .mayBlock, .timeLimit(.minutes(10)))
struct ForgetTests {
  let scene: Scene

  init() throws {
    scene = try Scene(provider: "request_timeout_seconds = 1\nrevoke_replaced = true")
  }

  @Test("token.revoke ends the tokens here and at the provider; the account stays")
  func revoke() throws {
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    let token = try scene.token()
    let reply = try scene.app.call("token.revoke", ["provider": "demo"])
    #expect(reply == ["account": account, "revoked": "done"])
    #expect(try scene.revocations > 0)
    #expect(try scene.userinfo(token["accessToken"]).status == 401)
    let error = try scene.app.error(of: "token.get", ["provider": "demo"])
    #expect(error["code"] == 1102)
    #expect(error.data["next"]?["params"]?["params"]?["account"] == account)
    #expect(try scene.refreshes == 0)
    #expect(try scene.app.call("token.list", [:])["tokens"] == [])
    #expect(try scene.attempt()["result"]?["account"] == account)
    #expect(try scene.token()["account"] == account)
  }

  @Test("a forgotten account is revoked at the provider and gone here, after a restart too")
  func forget() throws {
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    let token = try scene.token()
    let reply = try scene.app.call("account.forget", ["account": account])
    #expect(reply == ["account": account, "revoked": "done"])
    #expect(try scene.revocations > 0)
    #expect(try scene.userinfo(token["accessToken"]).status == 401)
    try expectGone(account, scene.app)
    try scene.daemon.restart()
    try expectGone(account, scene.daemon.client())
  }

  private func expectGone(_ account: JSONValue, _ app: RawClient) throws {
    #expect(try app.call("account.list", [:])["accounts"] == [])
    #expect(try app.call("token.list", [:])["tokens"] == [])
    #expect(try app.reason(of: "account.get", ["account": account]) == "not_found")
    #expect(try app.reason(of: "account.forget", ["account": account]) == "not_found")
    #expect(try app.reason(of: "token.get", ["account": account]) == "not_found")
    #expect(try app.error(of: "token.get", ["provider": "demo"])["code"] == 1101)
  }

  @Test("a second log-in of the same person revokes the refresh token that it replaces")
  func replaced() throws {
    try scene.app.signIn()
    let first = try scene.token()
    try scene.app.signIn()
    try eventually("the replaced grant is revoked") {
      try scene.userinfo(first["accessToken"]).status == 401
    }
    #expect(try scene.userinfo(scene.token()["accessToken"]).status == 200)
  }

  @Test("revoke: false wipes without a word to the provider")
  func withoutRevoking() throws {
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    let token = try scene.token()
    let reply = try scene.app.call("account.forget", ["provider": "demo", "revoke": false])
    #expect(reply["account"] == account && reply["revoked"] == "skipped")
    #expect(try scene.sandbox.requests("revocation") == 0)
    #expect(try scene.userinfo(token["accessToken"]).status == 200)
    try expectGone(account, scene.app)
  }

  @Test("a provider without a revocation endpoint is not asked")
  func nothingToAsk() throws {
    try scene.set(["discovery": ["revocation_endpoint": nil]])
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    let reply = try scene.app.call("account.forget", ["account": account])
    #expect(reply["account"] == account && reply["revoked"] == "skipped")
    try expectGone(account, scene.app)
  }

  @Test(
    "a provider that is down keeps nobody from forgetting",
    arguments: ProviderFault.passing.filter { $0.testDescription != "half a body" }
      + [ProviderFault("a refusal", ["status": 403])])
  func down(_ fault: ProviderFault) throws {
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    try scene.spoil("revocation", fault.json)
    let reply = try scene.app.call("account.forget", ["account": account], within: 30)
    #expect(reply["account"] == account && reply["revoked"] == "failed")
    // At most four tokens, the two that a refresh brings among them, each with and without a bearer.
    #expect(try (1...8).contains(scene.sandbox.requests("revocation")))
    try expectGone(account, scene.app)
  }

  @Test("a revocation that the provider puts off is sent again")
  func putOff() throws {
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    let token = try scene.token()
    try scene.spoil("revocation", ["status": 503], times: 2)
    let reply = try scene.app.call("account.forget", ["account": account], within: 30)
    #expect(reply == ["account": account, "revoked": "done"])
    #expect(try scene.userinfo(token["accessToken"]).status == 401)
  }

  @Test("nor does one that is gone")
  func gone() throws {
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    try scene.daemon.restart()
    scene.sandbox.killAtOnce()
    let app = try scene.daemon.client()
    let reply = try app.call("account.forget", ["account": account], within: 30)
    #expect(reply["account"] == account && reply["revoked"] == "failed")
    try expectGone(account, app)
  }

  @Test("one account is forgotten, the other keeps its token")
  func oneOfTwo() throws {
    let alice = try scene.app.signIn(user: "alice")["result"]?["account"] ?? .null
    let bob = try scene.app.signIn(user: "bob")["result"]?["account"] ?? .null
    let error = try scene.app.error(of: "account.forget", ["provider": "demo"])
    #expect(error.data["field"] == "account")
    _ = try scene.app.call("account.forget", ["account": alice])
    let token = try scene.token()
    #expect(token["account"] == bob)
    #expect(try scene.userinfo(token["accessToken"]).status == 200)
  }
}
