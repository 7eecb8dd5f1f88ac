import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Tokens that the provider binds to a key of the daemon (DPoP, RFC 9449). The sandbox's userinfo
/// endpoint is the service that demands the proofs.
@Suite("Tokens that are bound to a key", .mayBlock, .timeLimit(.minutes(10)))
struct DPoPTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws {
    fixture = try OIDCFixture(
      clock, provider: "dpop = true", limits: "force_refresh_seconds = 1"
    ) { sandbox in
      sandbox.provider("bearer") + """
        [[provider]]
        name = "machine"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        client_id = "usher-confidential"
        client_credential = "work-secret"
        client_credentials_grant = true
        dpop = true

        """
    }
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": "work-secret", "value": "s3cret:with/odd+chars"])
    try fixture.set(["requireDPoP": true])
  }

  private var url: String { "\(fixture.sandbox.issuer)/userinfo" }

  private func params(_ more: [String: JSONValue] = [:]) -> JSONValue {
    let usual: [String: JSONValue] = ["provider": "demo", "method": "GET", "url": .string(url)]
    return .object(usual.merging(more) { $1 })
  }

  private func proof(_ more: [String: JSONValue] = [:]) throws -> JSONValue {
    try fixture.app.call("token.proof", params(more))
  }

  /// Sends a request to the service with the token and the proof of a reply.
  private func use(
    _ reply: JSONValue, scheme: String = "DPoP", method: String = "GET"
  ) throws -> Web.Reply {
    let (token, proof) = (reply["accessToken"]?.stringValue, reply["proof"]?.stringValue)
    return try Web.send(
      method, url,
      headers: ["Authorization": "\(scheme) \(token ?? "")", "DPoP": proof ?? ""])
  }

  private func refresh() throws -> JSONValue {
    try clock.advance(by: 301)
    return try fixture.token()
  }

  @Test("a token is of type DPoP, and the service accepts it with the proof of token.proof")
  func whole() throws {
    try fixture.app.signIn()
    let token = try fixture.token()
    #expect(token["tokenType"] == "DPoP")
    let reply = try proof(["url": .string(url + "?page=1"), "nonce": "not-demanded"])
    #expect(reply["accessToken"] == token["accessToken"] && reply["tokenType"] == "DPoP")
    #expect(reply["account"] == token["account"] && reply["expiresAt"] == token["expiresAt"])
    let answer = try use(reply)
    #expect(answer.status == 200 && answer.text.contains("usr_alice"))
    #expect(try fixture.accounts.count == 1)
  }

  @Test("a refresh uses the key of the sign-in, also after a restart")
  func refreshed() throws {
    try fixture.app.signIn()
    let first = try fixture.token()
    // The sandbox binds the refresh token of a public client to the key.
    let second = try refresh()
    #expect(second["accessToken"] != first["accessToken"] && second["tokenType"] == "DPoP")
    let again = try fixture.restarted()
    try clock.advance(by: 301)
    let third = try again.token()
    #expect(third["accessToken"] != second["accessToken"] && third["tokenType"] == "DPoP")
    #expect(try use(again.app.call("token.proof", params())).status == 200)
  }

  @Test("a server's nonce costs one more request, and is used at once the next time")
  func nonce() throws {
    try fixture.set(["dpopNonce": "nonce-1"])
    try fixture.forgetRequests()
    try fixture.app.signIn()
    #expect(try fixture.requests("token") == 2)
    #expect(try fixture.requests("userinfo") == 1)
    _ = try refresh()
    #expect(try fixture.requests("token") == 3)
    try fixture.set(["dpopNonce": "nonce-2"])
    _ = try refresh()
    #expect(try fixture.requests("token") == 5)
  }

  @Test("a program answers the nonce of a service with another proof")
  func nonceOfService() throws {
    try fixture.app.signIn()
    try fixture.set(["dpopNonce": "nonce-1"])
    let refused = try use(proof())
    #expect(refused.status == 401)
    let nonce = try #require(refused.headers["dpop-nonce"])
    let challenge = try #require(refused.headers["www-authenticate"])
    let error = try fixture.app.error(
      of: "token.get", ["provider": "demo", "challenge": .string(challenge)])
    #expect(error["message"]?.stringValue?.contains("token.proof") == true)
    #expect(try use(proof(["nonce": .string(nonce)])).status == 200)
  }

  @Test("the service accepts a proof once, for its method, URL and token, and by its key only")
  func strict() throws {
    try fixture.app.signIn()
    let reply = try proof()
    #expect(try use(reply).status == 200)
    #expect(try use(reply).text.contains("jti"))
    #expect(try use(proof(["method": "POST"])).text.contains("htm"))
    #expect(try use(proof(["url": .string(url + "/other")])).text.contains("htu"))
    #expect(try use(proof(), scheme: "Bearer").status == 401)
    // A token that was stolen without its key.
    let token = try fixture.token()
    #expect(try fixture.userinfo(token["accessToken"]).status == 401)
    let other = try fixture.token(["provider": "demo", "forceRefresh": true])
    var mixed = try proof()
    #expect(mixed["accessToken"] == other["accessToken"])
    mixed["accessToken"] = token["accessToken"]
    #expect(try use(mixed).text.contains("ath"))
    var forged = try proof()
    let text = try #require(forged["proof"]?.stringValue)
    forged["proof"] = .string(String(text.dropLast(8)) + "AAAAAAAA")
    #expect(try use(forged).text.contains("signature"))
  }

  @Test("a Bearer token in place of one of type DPoP is refused at the sign-in and at a refresh")
  func downgrade() throws {
    try fixture.set(["tokenReply": ["token_type": "Bearer"]])
    let end = try fixture.attempt()
    #expect(end.failure["reason"] == "provider_protocol_error")
    let message = end.failure["message"]?.stringValue ?? ""
    #expect(message.contains("the provider's token_type is not DPoP: found Bearer"), "\(message)")
    #expect(try fixture.accounts.isEmpty)
    try fixture.set(["tokenReply": [:]])
    try fixture.app.signIn()
    try fixture.set(["tokenReply": ["token_type": "Bearer"]])
    try clock.advance(by: 301)
    let error = try fixture.app.error(of: "token.get", ["provider": "demo"])
    #expect(error.data["reason"] == "provider_protocol_error" && !error.hasSecret)
    try fixture.set(["tokenReply": [:]])
    #expect(try refresh()["tokenType"] == "DPoP")
  }

  @Test("the error for a proof that the provider refuses has the provider's reason")
  func refusedProof() throws {
    try fixture.app.signIn()
    try fixture.spoil(
      "token",
      [
        "status": 400,
        "body": ["error": "invalid_dpop_proof", "error_description": "iat is an hour ago"],
      ])
    let end = try fixture.attempt()
    #expect(end.failure["provider"]?["code"] == "invalid_dpop_proof")
    #expect(end.failure["provider"]?["message"] == "iat is an hour ago")
    try clock.advance(by: 301)
    let error = try fixture.app.error(of: "token.get", ["provider": "demo"])
    #expect(error.data["reason"] == "provider_rejected")
    #expect(error.data["provider"]?["code"] == "invalid_dpop_proof")
    #expect(error.data["provider"]?["message"] == "iat is an hour ago")
  }

  @Test("a device's and a client's own tokens are bound to a key, too")
  func otherFlows() throws {
    let device = try fixture.app.startFlow("demo", "device")
    _ = try Person.decide(
      at: device["step"]?["verificationURI"]?.stringValue ?? "",
      userCode: device["step"]?["userCode"]?.stringValue)
    #expect(try fixture.app.finished(device, moving: clock)["status"] == "succeeded")
    #expect(try use(proof()).status == 200)
    let own = try fixture.app.startFlow("machine", "clientCredentials", params: ["scope": "openid"])
    #expect(try fixture.app.finished(own)["status"] == "succeeded")
    let reply = try proof(["provider": "machine"])
    #expect(reply["tokenType"] == "DPoP")
    #expect(try use(reply).status == 200)
  }

  @Test("a grant from before the setting is bound to a key at its next refresh")
  func upgrade() throws {
    let fixture = try OIDCFixture(clock)
    try fixture.app.signIn()
    let before = try fixture.token()
    #expect(before["tokenType"] == "Bearer")
    let file = fixture.daemon.place.file("usherd.toml")
    let text = try String(contentsOf: URL(filePath: file), encoding: .utf8)
    try fixture.daemon.reload(
      config: text.replacing(
        "client_id = \"usher\"", with: "client_id = \"usher\"\ndpop = true"))
    #expect(try fixture.token() == before)
    try fixture.set(["requireDPoP": true])
    try clock.advance(by: 301)
    #expect(try fixture.token()["tokenType"] == "DPoP")
    // The key is that of the first refresh.
    try clock.advance(by: 301)
    #expect(try fixture.token()["tokenType"] == "DPoP")
    let url = "\(fixture.sandbox.issuer)/userinfo"
    let reply = try fixture.app.call(
      "token.proof", ["provider": "demo", "method": "GET", "url": .string(url)])
    let answer = try Web.send(
      "GET", url,
      headers: [
        "Authorization": "DPoP \(reply["accessToken"]?.stringValue ?? "")",
        "DPoP": reply["proof"]?.stringValue ?? "",
      ])
    #expect(answer.status == 200)
  }

  @Test("a Bearer token has no proof, and unusable parameters are refused with their field")
  func refused() throws {
    try fixture.set(["requireDPoP": false])
    try fixture.app.signIn("bearer")
    let error = try fixture.app.error(of: "token.proof", params(["provider": "bearer"]))
    #expect(error.data["reason"] == "invalid_params" && error.data["field"] == nil)
    #expect(error["message"]?.stringValue?.contains("of type Bearer") == true)
    try fixture.app.signIn()
    for (field, value) in [
      ("method", "GE T"), ("method", ""), ("url", "ftp://a.example/"), ("url", "/path"),
      ("url", "http://a.example/"), ("nonce", ""), ("nonce", "a b"), ("nonce", "a\"b"),
    ] {
      let error = try fixture.app.error(of: "token.proof", params([field: .string(value)]))
      #expect(error.data["reason"] == "invalid_params", "\(field) \(value)")
      #expect(error.data["field"]?.stringValue == field, "\(field) \(value)")
    }
  }

  @Test("a rule that allows token.get allows token.proof, and the audit log names the method")
  func policy() throws {
    for (pattern, isAllowed) in [("token.get demo", true), ("token.proof demo", false)] {
      let fixture = try OIDCFixture(
        provider: "dpop = true",
        limits: """
          [[client]]
          name = "till"
          match = { user = \(getuid()) }
          allow = ["flow.start", "\(pattern)"]
          """)
      try fixture.app.signIn()
      let reply = try fixture.app.reply(to: "token.proof", params())
      #expect((reply["result"] != nil) == isAllowed, "\(reply.text)")
      #expect(isAllowed || reply["error"]?.data["reason"] == "permission_denied")
      try eventually("the audit log has the call") {
        let rows = try fixture.daemon.admin().call("audit.list", ["method": "token.proof"])["rows"]
        return rows?[0]?["client"] == "till"
      }
    }
  }

  @Test("usherctl prints the two headers of a request, and nothing else")
  func command() throws {
    try fixture.app.signIn()
    let (status, output, errors) = try fixture.daemon.usherctl([
      "token", "proof", "demo", "--url", url,
    ])
    #expect(status == 0, "\(errors)")
    let lines = output.split(separator: "\n").map { $0.split(separator: ": ", maxSplits: 1) }
    #expect(lines.map(\.first) == ["Authorization", "DPoP"])
    let headers = Dictionary(lines.map { (String($0[0]), String($0[1])) }) { $1 }
    #expect(try Web.send("GET", url, headers: headers).status == 200)
  }

  @Test("no key is in a reply, an event, the log or a file")
  func canary() throws {
    let search = try CanarySearch(fixture.daemon)
    search.record(try fixture.app.signIn())
    search.record(try proof())
    search.record(try refresh())
    search.record(try fixture.app.reply(to: "token.proof", params(["nonce": "a b"])))
    try search.recordLists()
    let audit = try fixture.daemon.admin().call("audit.list", [:])
    search.record(audit)
    try search.expectNone(of: ["PRIVATE KEY"], found: ["demo"])
  }
}
