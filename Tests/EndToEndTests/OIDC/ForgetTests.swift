import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite("Revocation of tokens and forgetting of accounts", .mayBlock, .timeLimit(.minutes(10)))
struct ForgetTests {
  let fixture: OIDCFixture

  init() throws {
    fixture = try OIDCFixture(provider: "revoke_replaced = true")
  }

  @Test("token.revoke ends the tokens in usherd and at the provider, and keeps the account")
  func revoke() throws {
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let token = try fixture.token()
    let reply = try fixture.app.call("token.revoke", ["provider": "demo"])
    #expect(reply == ["account": account, "revoked": "done"])
    #expect(try fixture.revocations > 0)
    #expect(try fixture.userinfo(token["accessToken"]).status == 401)
    let error = try fixture.app.error(of: "token.get", ["provider": "demo"])
    #expect(error["code"] == 1102)
    #expect(error.data["next"]?["params"]?["params"]?["account"] == account)
    #expect(try fixture.refreshes == 0)
    #expect(try fixture.app.call("token.list", [:])["tokens"] == [])
    #expect(try fixture.attempt()["result"]?["account"] == account)
    #expect(try fixture.token()["account"] == account)
  }

  @Test("account.forget revokes the tokens and removes the account, also after a restart")
  func forget() throws {
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let token = try fixture.token()
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply == ["account": account, "revoked": "done"])
    #expect(try fixture.revocations > 0)
    #expect(try fixture.userinfo(token["accessToken"]).status == 401)
    try expectGone(account, fixture.app)
    try fixture.daemon.restart()
    try expectGone(account, fixture.daemon.client())
  }

  private func expectGone(_ account: JSONValue, _ app: RawClient) throws {
    #expect(try app.call("account.list", [:])["accounts"] == [])
    #expect(try app.call("token.list", [:])["tokens"] == [])
    #expect(try app.reason(of: "account.get", ["account": account]) == "not_found")
    #expect(try app.reason(of: "account.forget", ["account": account]) == "not_found")
    #expect(try app.reason(of: "token.get", ["account": account]) == "not_found")
    #expect(try app.error(of: "token.get", ["provider": "demo"])["code"] == 1101)
  }

  @Test("a second sign-in of the same person revokes the grant that it replaces")
  func replaced() throws {
    try fixture.app.signIn()
    let first = try fixture.token()
    try fixture.app.signIn()
    try eventually("the daemon revokes the replaced grant") {
      try fixture.userinfo(first["accessToken"]).status == 401
    }
    #expect(try fixture.userinfo(fixture.token()["accessToken"]).status == 200)
  }

  /// Returns the tokens that remain valid according to the reply, and the reasons.
  private func living(_ reply: JSONValue) -> ([JSONValue?]?, Set<JSONValue?>?) {
    let living = reply["living"]?.arrayValue
    return (living?.map { $0["token"] }, living.map { Set($0.map { $0["why"] }) })
  }

  /// Returns the audit rows of revocations that continued after their call.
  private func rows(_ fixture: OIDCFixture) throws -> [JSONValue] {
    let reply = try fixture.daemon.admin().call("audit.list", ["method": "token.revocation"])
    return reply["rows"]?.arrayValue ?? []
  }

  /// Calls `account.forget`, and advances the clock while the daemon waits between its requests to
  /// the provider.
  ///
  /// - Parameter seconds: The most by which the clock advances before the reply arrives.
  private func forget(
    _ account: JSONValue, at fixture: OIDCFixture, moving clock: MovableClock, by seconds: Int64
  ) throws -> JSONValue {
    let client = try fixture.daemon.client()
    let request: JSONValue = [
      "jsonrpc": "2.0", "id": 1, "method": "account.forget", "params": ["account": account],
    ]
    try client.send(request.text)
    var reply: JSONValue?
    try eventually("the daemon replies to account.forget", moving: clock, atMost: seconds) {
      reply = try? client.receive(within: 0)
      return reply != nil
    }
    return try #require(reply?["result"])
  }

  @Test(
    "account.forget with revoke false asks nothing of the provider, and lists the tokens left valid"
  )
  func withoutRevoking() throws {
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let token = try fixture.token()
    let reply = try fixture.app.call("account.forget", ["provider": "demo", "revoke": false])
    #expect(reply["account"] == account && reply["revoked"] == "skipped")
    #expect(living(reply) == (["refresh_token", "access_token"], ["not_asked"]), "\(reply.text)")
    #expect(try fixture.sandbox.requests("revocation") == 0)
    #expect(try fixture.userinfo(token["accessToken"]).status == 200)
    try expectGone(account, fixture.app)
  }

  @Test("account.forget lists the tokens left valid if the provider has no revocation endpoint")
  func nothingToAsk() throws {
    try fixture.set(["discovery": ["revocation_endpoint": nil]])
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["account"] == account && reply["revoked"] == "skipped")
    #expect(living(reply) == (["refresh_token", "access_token"], ["unsupported"]), "\(reply.text)")
    try expectGone(account, fixture.app)
  }

  @Test("account.forget lists the tokens that the provider refused to revoke")
  func refused() throws {
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    try fixture.spoil("revocation", ["status": 403])
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["account"] == account && reply["revoked"] == "failed")
    // The second access token was fetched for the revocation: some servers ask for a fresh one.
    #expect(
      living(reply) == (["refresh_token", "access_token", "access_token"], ["refused"]),
      "\(reply.text)")
    #expect(reply["retriedUntil"] == nil)
    #expect(reply["living"]?.arrayValue?.last?["expiresAt"]?.stringValue != nil)
    // At most four tokens, two of which a refresh brings, each with and without a bearer.
    #expect(try (1...8).contains(fixture.sandbox.requests("revocation")))
    try expectGone(account, fixture.app)
  }

  @Test("account.forget repeats a revocation that the provider answers with 503, until it succeeds")
  func putOff() throws {
    let clock = MovableClock()
    let fixture = try OIDCFixture(clock, requestTimeout: 60)
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let token = try fixture.token()
    try fixture.spoil("revocation", ["status": 503], times: 2)
    let reply = try forget(account, at: fixture, moving: clock, by: 20)
    #expect(reply == ["account": account, "revoked": "done"])
    #expect(try fixture.userinfo(token["accessToken"]).status == 401)
  }

  @Test("account.forget removes the account although the provider cannot be reached")
  func gone() throws {
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    try fixture.daemon.restart()
    fixture.sandbox.killAtOnce()
    let app = try fixture.daemon.client()
    let reply = try app.call("account.forget", ["account": account])
    #expect(reply["account"] == account && reply["revoked"] == "failed")
    try expectGone(account, app)
  }

  @Test(
    "a revocation that gets 503 is repeated after account.forget, and the audit log records its end"
  )
  func background() throws {
    let clock = MovableClock()
    let fixture = try OIDCFixture(clock)
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let token = try fixture.token()
    try fixture.spoil("revocation", ["status": 503])
    let reply = try forget(account, at: fixture, moving: clock, by: 30)
    #expect(reply["revoked"] == "failed")
    #expect(living(reply).1 == ["unreachable"], "\(reply.text)")
    #expect(reply["retriedUntil"]?.stringValue != nil, "\(reply.text)")
    try fixture.mend()
    try eventually("the daemon revokes the token", moving: clock, by: 2) {
      try fixture.revocations > 0 && fixture.userinfo(token["accessToken"]).status == 401
    }
    try eventually("the audit log has the revocation") { try rows(fixture).count == 1 }
    #expect(try rows(fixture).first?["outcome"] == "ok")
    #expect(try rows(fixture).first?["account"] == reply["account"])
  }

  @Test(
    "revocations continue after kill -9, and leave no token in the state directory", .ownProcess)
  func killed() throws {
    // The pause is longer than the request time-out, so the daemon replies without waiting for it.
    try fixture.spoil("revocation", ["status": 503, "headers": ["Retry-After": "60"]])
    let tokens = try [("alice", "account.forget"), ("bob", "token.revoke")].map { user, method in
      let account = try fixture.app.signIn(user: user)["result"]?["account"] ?? .null
      let token = try fixture.token(["account": account])["accessToken"]
      _ = try fixture.app.call(method, ["account": account], within: 60)
      return token
    }
    fixture.daemon.killAtOnce()
    try fixture.mend()
    try fixture.daemon.start()
    for token in tokens {
      try eventually("the daemon revokes the token") { try fixture.userinfo(token).status == 401 }
    }
    try eventually("the audit log has both revocations") { try rows(fixture).count == 2 }
    for file in fixture.daemon.place.everything() where file.name.hasPrefix("state/") {
      for token in tokens {
        let secret = Data((token?.stringValue ?? "").utf8)
        #expect(file.bytes.range(of: secret) == nil, "\(file.name)")
      }
    }
  }

  @Test(
    "account.forget removes the named account, and the other account of the provider keeps its token"
  )
  func oneOfTwo() throws {
    let alice = try fixture.app.signIn(user: "alice")["result"]?["account"] ?? .null
    let bob = try fixture.app.signIn(user: "bob")["result"]?["account"] ?? .null
    let error = try fixture.app.error(of: "account.forget", ["provider": "demo"])
    #expect(error.data["field"] == "account")
    _ = try fixture.app.call("account.forget", ["account": alice])
    let token = try fixture.token()
    #expect(token["account"] == bob)
    #expect(try fixture.userinfo(token["accessToken"]).status == 200)
  }
}
