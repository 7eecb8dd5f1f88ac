import JSONRPC
import Testing
import UsherTestKit

@Suite("Refresh of access tokens", .mayBlock, .timeLimit(.minutes(10)))
struct RefreshTests {
  let fixture: OIDCFixture

  init() throws { fixture = try OIDCFixture() }

  @Test(
    "a hundred simultaneous calls for an expired token cause one refresh and get the same new token"
  )
  func hundred() throws {
    let fixture = try OIDCFixture(provider: "request_timeout_seconds = 120")
    let gate = try fixture.tokenGate()
    let account = try fixture.signInWithExpiredToken()["result"]?["account"] ?? .null
    gate.hold()
    let clients = try (0..<100).map { _ in try fixture.daemon.client() }
    for client in clients {
      try client.send(
        #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"provider":"demo"}}"#)
      try client.send(#"{"jsonrpc":"2.0","id":2,"method":"system.status"}"#)
    }
    // The daemon reads the calls of a connection in order: it has read all hundred token calls now.
    for client in clients { #expect(try client.receive()?["id"] == 2) }
    try eventually("the daemon refreshes the token") { try fixture.refreshes == 1 }
    gate.release()
    let tokens = try clients.map { try $0.receive()?["result"] }
    #expect(Set(tokens).count == 1)
    let token = try #require(tokens[0])
    #expect(token["account"] == account)
    #expect(try fixture.userinfo(token["accessToken"]).status == 200)
    #expect(try fixture.refreshes == 1)
    #expect(try fixture.token() == token)
    #expect(try fixture.refreshes == 1)
  }

  @Test("each rotated refresh token is used once, also after restarts")
  func rotation() throws {
    try fixture.set(["tokenReply": ["expires_in": 0]])
    try fixture.app.signIn()
    try fixture.forgetRequests()
    var seen: Set<JSONValue> = []
    for _ in 0..<3 { seen.insert(try fixture.token()["accessToken"] ?? .null) }
    try fixture.daemon.restart()
    for _ in 0..<2 {
      let token = try fixture.daemon.client().call("token.get", ["provider": "demo"])
      seen.insert(token["accessToken"] ?? .null)
    }
    try fixture.daemon.stop()
    try fixture.daemon.start()
    let last = try fixture.daemon.client().call("token.get", ["provider": "demo"])
    seen.insert(last["accessToken"] ?? .null)
    #expect(seen.count == 6)
    let log = try fixture.sandbox.control("GET", "requests?endpoint=token")["requests"]
    #expect(log?.arrayValue?.map { $0["status"] } == Array(repeating: 200, count: 6))
    #expect(try fixture.userinfo(last["accessToken"]).status == 200)
  }

  @Test("refreshes succeed at a provider that does not rotate refresh tokens")
  func withoutRotation() throws {
    try fixture.set(["tokenReply": ["expires_in": 0], "refreshRotation": "none"])
    try fixture.app.signIn()
    let tokens = try (0..<3).map { _ in try fixture.token()["accessToken"] }
    #expect(Set(tokens).count == 3)
    #expect(try fixture.refreshes == 3)
  }

  @Test(
    "a revoked grant is refused and never retried, and the account works again after a new sign-in")
  func deadGrant() throws {
    let account = try fixture.signInWithExpiredToken()["result"]?["account"] ?? .null
    try fixture.sandbox.control("POST", "revokeAll")
    let error = try fixture.app.error(of: "token.get", ["provider": "demo"])
    #expect(error["code"] == 1102)
    #expect(error.data["reason"] == "reauthentication_required")
    #expect(error.data["retryable"] == false)
    #expect(error.data["provider"]?["code"] == "invalid_grant")
    #expect(error.data["next"]?["method"] == "flow.start")
    #expect(error.data["next"]?["params"]?["params"] == ["account": account])
    #expect(!error.hasSecret)
    for _ in 0..<5 {
      let again = try fixture.app.error(of: "token.get", ["account": account])
      #expect(again["code"] == 1102)
    }
    #expect(try fixture.refreshes == 1)
    try fixture.daemon.restart()
    let app = try fixture.daemon.client()
    #expect(try app.error(of: "token.get", ["provider": "demo"])["code"] == 1102)
    #expect(try fixture.refreshes == 1)
    let list = try app.call("token.list", [:])["tokens"]
    #expect(list?[0]?["token"]?["status"] == "dead")
    let flow = try app.call("flow.start", error.data["next"]?["params"])["flow"] ?? .null
    let shown = try app.flow(
      in: app.call("flow.wait", ["flow": flow["id"] ?? .null, "revision": 2, "timeoutMs": 60_000]))
    try Person.signIn(at: shown.url)
    #expect(try app.finished(shown)["result"]?["account"] == account)
    #expect(try app.call("token.get", ["account": account])["account"] == account)
  }

  @Test("an expired token without a refresh token needs a new sign-in")
  func noRefreshToken() throws {
    try fixture.set(["refreshTokens": false])
    try fixture.signInWithExpiredToken()
    let error = try fixture.app.error(of: "token.get", ["provider": "demo"])
    #expect(error["code"] == 1102)
    #expect(error.data["next"]?["params"]?["kind"] == "authorize")
    #expect(try fixture.refreshes == 0)
  }

  @Test("a forced refresh returns a new token, and a second one right after it is rate limited")
  func forced() throws {
    try fixture.app.signIn()
    let first = try fixture.token()
    let force: JSONValue = ["provider": "demo", "forceRefresh": true]
    let second = try fixture.token(force)
    #expect(second["accessToken"] != first["accessToken"])
    let error = try fixture.app.error(of: "token.get", force)
    #expect(error["code"] == -32002)
    #expect(error.data["reason"] == "rate_limited")
    #expect(error.data["limit"] == "force_refresh_seconds")
    let pause = try #require(error.data["retryAfterMs"]?.integerValue)
    #expect((1...10_000).contains(pause))
    #expect(try fixture.token() == second)
    #expect(try fixture.refreshes == 1)
  }

  @Test("token.get for a part of the scope returns a token of that part, also after a restart")
  func narrower() throws {
    let fixture = try OIDCFixture(provider: "narrow_refresh = true")
    try fixture.app.signIn()
    let whole = try fixture.token()
    let narrow = try fixture.token(["provider": "demo", "scope": "openid"])
    #expect(narrow["scope"] == "openid")
    #expect(narrow["accessToken"] != whole["accessToken"])
    #expect(try !fixture.userinfo(narrow["accessToken"]).text.contains("name"))
    #expect(try fixture.token(["provider": "demo", "scope": "openid"]) == narrow)
    #expect(try fixture.token() == whole)
    let shuffled = try fixture.token([
      "provider": "demo", "scope": "offline_access profile  openid",
    ])
    #expect(shuffled == whole)
    #expect(try fixture.refreshes == 1)
    try fixture.daemon.restart()
    let app = try fixture.daemon.client()
    #expect(try app.call("token.get", ["provider": "demo", "scope": "openid"]) == narrow)
  }
}
