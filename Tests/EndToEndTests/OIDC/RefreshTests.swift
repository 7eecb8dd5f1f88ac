import JSONRPC
import Testing
import UsherTestKit

@Suite("tokens are renewed", .mayBlock, .timeLimit(.minutes(10)))
struct RefreshTests {
  let scene: Scene

  init() throws { scene = try Scene() }

  @Test("a hundred ask for an expired token at once: one refresh, and all get the new token")
  func hundred() throws {
    let scene = try Scene(provider: "request_timeout_seconds = 120")
    let gate = try scene.tokenGate()
    let account = try scene.signInWithExpiredToken()["result"]?["account"] ?? .null
    gate.hold()
    let clients = try (0..<100).map { _ in try scene.daemon.client() }
    for client in clients {
      try client.send(
        #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"provider":"demo"}}"#)
      try client.send(#"{"jsonrpc":"2.0","id":2,"method":"system.status"}"#)
    }
    // The daemon reads the calls of a connection in their order: all hundred have asked now.
    for client in clients { #expect(try client.receive()?["id"] == 2) }
    try eventually("the token is refreshed") { try scene.refreshes == 1 }
    gate.release()
    let tokens = try clients.map { try $0.receive()?["result"] }
    #expect(Set(tokens).count == 1)
    let token = try #require(tokens[0])
    #expect(token["account"] == account)
    #expect(try scene.userinfo(token["accessToken"]).status == 200)
    #expect(try scene.refreshes == 1)
    #expect(try scene.token() == token)
    #expect(try scene.refreshes == 1)
  }

  @Test("each refresh token is used once, over restarts too")
  func rotation() throws {
    try scene.set(["tokenReply": ["expires_in": 0]])
    try scene.app.signIn()
    try scene.forgetRequests()
    var seen: Set<JSONValue> = []
    for _ in 0..<3 { seen.insert(try scene.token()["accessToken"] ?? .null) }
    try scene.daemon.restart()
    for _ in 0..<2 {
      let token = try scene.daemon.client().call("token.get", ["provider": "demo"])
      seen.insert(token["accessToken"] ?? .null)
    }
    try scene.daemon.stop()
    try scene.daemon.start()
    let last = try scene.daemon.client().call("token.get", ["provider": "demo"])
    seen.insert(last["accessToken"] ?? .null)
    #expect(seen.count == 6)
    let log = try scene.sandbox.control("GET", "requests?endpoint=token")["requests"]
    #expect(log?.arrayValue?.map { $0["status"] } == Array(repeating: 200, count: 6))
    #expect(try scene.userinfo(last["accessToken"]).status == 200)
  }

  @Test("a provider that does not rotate is asked with the same refresh token again")
  func withoutRotation() throws {
    try scene.set(["tokenReply": ["expires_in": 0], "refreshRotation": "none"])
    try scene.app.signIn()
    let tokens = try (0..<3).map { _ in try scene.token()["accessToken"] }
    #expect(Set(tokens).count == 3)
    #expect(try scene.refreshes == 3)
  }

  @Test("a dead grant says what to do, is not asked again, and lives after a new log-in")
  func deadGrant() throws {
    let account = try scene.signInWithExpiredToken()["result"]?["account"] ?? .null
    try scene.sandbox.control("POST", "revokeAll")
    let error = try scene.app.error(of: "token.get", ["provider": "demo"])
    #expect(error["code"] == 1102)
    #expect(error.data["reason"] == "reauthentication_required")
    #expect(error.data["retryable"] == false)
    #expect(error.data["provider"]?["code"] == "invalid_grant")
    #expect(error.data["next"]?["method"] == "flow.start")
    #expect(error.data["next"]?["params"]?["params"] == ["account": account])
    #expect(!error.hasSecret)
    for _ in 0..<5 {
      let again = try scene.app.error(of: "token.get", ["account": account])
      #expect(again["code"] == 1102)
    }
    #expect(try scene.refreshes == 1)
    try scene.daemon.restart()
    let app = try scene.daemon.client()
    #expect(try app.error(of: "token.get", ["provider": "demo"])["code"] == 1102)
    #expect(try scene.refreshes == 1)
    let list = try app.call("token.list", [:])["tokens"]
    #expect(list?[0]?["token"]?["status"] == "dead")
    let flow = try app.call("flow.start", error.data["next"]?["params"])["flow"] ?? .null
    let shown = try app.flow(
      in: app.call("flow.wait", ["flow": flow["id"] ?? .null, "revision": 2, "timeoutMs": 60_000]))
    try Person.signIn(at: shown.url)
    #expect(try app.finished(shown)["result"]?["account"] == account)
    #expect(try app.call("token.get", ["account": account])["account"] == account)
  }

  @Test("an expired token that came without a refresh token needs a new log-in")
  func noRefreshToken() throws {
    try scene.set(["refreshTokens": false])
    try scene.signInWithExpiredToken()
    let error = try scene.app.error(of: "token.get", ["provider": "demo"])
    #expect(error["code"] == 1102)
    #expect(error.data["next"]?["params"]?["kind"] == "authorize")
    #expect(try scene.refreshes == 0)
  }

  @Test("a forced refresh brings a new token, and the next one has to wait")
  func forced() throws {
    try scene.app.signIn()
    let first = try scene.token()
    let force: JSONValue = ["provider": "demo", "forceRefresh": true]
    let second = try scene.token(force)
    #expect(second["accessToken"] != first["accessToken"])
    let error = try scene.app.error(of: "token.get", force)
    #expect(error["code"] == -32002)
    #expect(error.data["reason"] == "rate_limited")
    #expect(error.data["limit"] == "force_refresh_seconds")
    let pause = try #require(error.data["retryAfterMs"]?.integerValue)
    #expect((1...10_000).contains(pause))
    #expect(try scene.token() == second)
    #expect(try scene.refreshes == 1)
  }

  @Test("a part of the scope gives a token for no more than that")
  func narrower() throws {
    let scene = try Scene(provider: "narrow_refresh = true")
    try scene.app.signIn()
    let whole = try scene.token()
    let narrow = try scene.token(["provider": "demo", "scope": "openid"])
    #expect(narrow["scope"] == "openid")
    #expect(narrow["accessToken"] != whole["accessToken"])
    #expect(try !scene.userinfo(narrow["accessToken"]).text.contains("name"))
    #expect(try scene.token(["provider": "demo", "scope": "openid"]) == narrow)
    #expect(try scene.token() == whole)
    let shuffled = try scene.token([
      "provider": "demo", "scope": "offline_access profile  openid",
    ])
    #expect(shuffled == whole)
    #expect(try scene.refreshes == 1)
    try scene.daemon.restart()
    let app = try scene.daemon.client()
    #expect(try app.call("token.get", ["provider": "demo", "scope": "openid"]) == narrow)
  }
}
