import JSONRPC
import Testing
import UsherTestKit

@Suite("Provider credentials", .mayBlock, .timeLimit(.minutes(10)))
struct CredentialTests {
  let fixture: OIDCFixture
  let admin: RawClient

  static let secret = "s3cret:with/odd+chars"

  init() throws {
    fixture = try OIDCFixture(limits: "force_refresh_seconds = 1") { sandbox in
      ["basic", "post"].map { method in
        """
        [[provider]]
        name = "\(method)"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        client_id = "usher-confidential"
        client_credential = "work-secret"
        client_auth = "\(method)"

        """
      }.joined()
    }
    admin = try fixture.daemon.admin()
  }

  private func setSecret(_ value: String) throws {
    _ = try admin.call("credential.set", ["name": "work-secret", "value": .string(value)])
  }

  @Test(
    "a client with a secret signs in, refreshes and revokes with either client_auth",
    arguments: ["basic", "post"])
  func confidential(_ provider: String) throws {
    try setSecret(Self.secret)
    let account = try fixture.app.signIn(provider)["result"]?["account"] ?? .null
    let first = try fixture.token(["account": account])
    let second = try fixture.token(["account": account, "forceRefresh": true])
    #expect(second["accessToken"] != first["accessToken"])
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done")
    #expect(try fixture.userinfo(second["accessToken"]).status == 401)
    #expect(!fixture.daemon.log.contains(Self.secret))
  }

  @Test("a flow with a missing credential fails and names the usherctl command that sets it")
  func missing() throws {
    let end = try fixture.app.startFlow("basic")
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "provider_rejected")
    let message = end.failure["message"]?.stringValue ?? ""
    #expect(message.contains("usherctl credential set work-secret"))
    #expect(try fixture.sandbox.requests("discovery") == 0)
    let health = try fixture.app.call("system.status", [:])["providers"]?.arrayValue ?? []
    #expect(health.first { $0["name"] == "basic" }?["health"] == "unknown")
    try setSecret(Self.secret)
    try fixture.app.signIn("basic")
  }

  @Test("a wrong credential ends the sign-in with the provider's error code, and is never shown")
  func wrong() throws {
    try setSecret("s3cret-but-wrong")
    let flow = try fixture.app.startFlow("basic")
    try Person.signIn(at: flow.url)
    let end = try fixture.app.finished(flow)
    #expect(end.failure["reason"] == "provider_rejected")
    #expect(end.failure["provider"]?["code"] == "invalid_client")
    #expect(!end.hasSecret)
    #expect(!fixture.daemon.log.contains("s3cret"))
    // A corrected credential applies from the next call on.
    try setSecret(Self.secret)
    try fixture.app.signIn("basic")
  }

  @Test(
    "token.get names a deleted credential and sends no request; with it set again, the grant works")
  func deleted() throws {
    try setSecret(Self.secret)
    try fixture.set(["tokenReply": ["expires_in": 0]])
    let account = try fixture.app.signIn("basic")["result"]?["account"] ?? .null
    _ = try admin.call("credential.delete", ["name": "work-secret"])
    let error = try fixture.app.error(of: "token.get", ["account": account])
    #expect(error["code"] == 1301)
    #expect(error["message"]?.stringValue?.contains("work-secret") == true)
    #expect(try fixture.refreshes == 0)
    try setSecret(Self.secret)
    #expect(try fixture.token(["account": account])["account"] == account)
    #expect(try fixture.refreshes == 1)
  }

  @Test(
    "a wrong secret at a refresh is not retried and keeps the grant, which works with the right one"
  )
  func wrongAtRefresh() throws {
    try setSecret(Self.secret)
    try fixture.set(["tokenReply": ["expires_in": 0]])
    let account = try fixture.app.signIn("post")["result"]?["account"] ?? .null
    try setSecret("s3cret-but-wrong")
    let error = try fixture.app.error(of: "token.get", ["account": account])
    #expect(error["code"] == 1301)
    #expect(error.data["provider"]?["code"] == "invalid_client")
    #expect(!error.hasSecret)
    for _ in 0..<5 {
      #expect(try fixture.app.error(of: "token.get", ["account": account])["code"] == 1301)
    }
    #expect(try fixture.refreshes == 1)
    // A changed credential is tried at once.
    try setSecret(Self.secret)
    #expect(try fixture.token(["account": account])["account"] == account)
  }

  @Test("credential.list returns the names without values, also after a restart")
  func list() throws {
    #expect(try admin.call("credential.list", [:])["credentials"] == [])
    #expect(try admin.reason(of: "credential.delete", ["name": "x"]) == "not_found")
    try setSecret(Self.secret)
    _ = try admin.call("credential.set", ["name": "a.other", "value": "s3cret 2"])
    let list = try admin.call("credential.list", [:])
    #expect(list["credentials"]?.arrayValue?.map { $0["name"] } == ["a.other", "work-secret"])
    #expect(list["credentials"]?[0]?["source"] == "store")
    #expect(!list.hasSecret)
    try fixture.daemon.restart()
    let app = try fixture.daemon.client()
    let after = try fixture.daemon.admin().call("credential.list", [:])["credentials"]
    #expect(after?.arrayValue?.map { $0["name"] } == ["a.other", "work-secret"])
    try app.signIn("post")
    _ = try fixture.daemon.admin().call("credential.delete", ["name": "a.other"])
    let rest = try fixture.daemon.admin().call("credential.list", [:])["credentials"]
    #expect(rest?.arrayValue?.map { $0["name"] } == ["work-secret"])
  }

  @Test("credential.set refuses a bad name or value by its field, and never repeats the value")
  func strictness() throws {
    let refused: [(params: JSONValue, field: JSONValue)] = [
      (["name": "a b", "value": "s3cret"], "name"), (["name": "", "value": "s3cret"], "name"),
      (["name": "../x", "value": "s3cret"], "name"), (["name": "x", "value": ""], "value"),
      (["name": "x"], "value"), (["name": "x", "value": 7], "value"),
      (["name": "x", "value": "s3cret", "more": 1], "more"),
    ]
    for (params, field) in refused {
      let error = try admin.error(of: "credential.set", params)
      #expect(error.data["reason"] == "invalid_params" && error.data["field"] == field)
      #expect(!error.hasSecret)
    }
    #expect(try admin.call("credential.list", [:])["credentials"] == [])
  }

  @Test("credential methods and provider.check get method_not_found on the app socket")
  func adminOnly() throws {
    let unknown = try fixture.app.error(of: "no.such", [:])
    for method in ["credential.set", "credential.list", "credential.delete", "provider.check"] {
      let error = try fixture.app.error(of: method, [:])
      #expect(error["code"] == -32601 && error["code"] == unknown["code"], "\(method)")
      #expect(error.data["reason"] == "method_not_found", "\(method)")
      #expect(try admin.reply(to: method, [:])["error"]?["code"] != -32601, "\(method)")
    }
  }
}

@Suite("Checks of a provider with provider.check", .mayBlock, .timeLimit(.minutes(10)))
struct ProviderCheckTests {
  let fixture: OIDCFixture
  let admin: RawClient

  init() throws {
    fixture = try OIDCFixture { sandbox in
      """
      [[provider]]
      name = "secretive"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_credential = "work-secret"

      """
    }
    admin = try fixture.daemon.admin()
  }

  /// Returns whether the provider is healthy, and the message of each subject that is not fine.
  private func check(_ provider: JSONValue = "demo") throws -> (Bool?, [String: String]) {
    let reply = try admin.call("provider.check", ["provider": provider])
    #expect(!reply.hasSecret)
    var bad: [String: String] = [:]
    for finding in reply["findings"]?.arrayValue ?? [] where finding["fine"] == false {
      bad[finding["subject"]?.stringValue ?? ""] = finding["message"]?.stringValue
    }
    return (reply["healthy"]?.boolValue, bad)
  }

  @Test(
    "provider.check reports a healthy provider with its four subjects, and refuses an unknown one")
  func healthy() throws {
    let reply = try admin.call("provider.check", ["provider": "demo"])
    #expect(reply["healthy"] == true)
    let subjects = reply["findings"]?.arrayValue?.map { $0["subject"] }
    #expect(subjects == ["discovery", "keys", "credential", "clock"])
    let error = try admin.error(of: "provider.check", ["provider": "nobody"])
    #expect(error.data["reason"] == "not_found" && error.data["field"] == "provider")
  }

  @Test(
    "provider.check names a clock that is an hour off, unreadable keys and unreachable metadata")
  func findings() throws {
    try fixture.set(["clockOffsetSeconds": -3600])
    var (healthy, bad) = try check()
    #expect(healthy == false && bad.count == 1)
    #expect(bad["clock"]?.contains("differs") == true)
    try fixture.mend()
    try fixture.spoil("jwks", ["brokenJSON": true])
    (healthy, bad) = try check()
    #expect(healthy == false && bad.keys.sorted() == ["keys"])
    try fixture.spoil("discovery", ["reset": true])
    (healthy, bad) = try check()
    #expect(healthy == false && bad["discovery"]?.isEmpty == false)
  }

  @Test("provider.check names a missing credential and the usherctl command that sets it")
  func credential() throws {
    let (healthy, bad) = try check("secretive")
    #expect(healthy == false)
    #expect(bad.keys.sorted() == ["credential"])
    #expect(bad["credential"]?.contains("usherctl credential set work-secret") == true)
    _ = try admin.call("credential.set", ["name": "work-secret", "value": "s3cret"])
    #expect(try check("secretive").0 == true)
  }
}
