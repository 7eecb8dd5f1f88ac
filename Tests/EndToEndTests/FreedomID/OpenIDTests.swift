import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Mode `oidc`: the flow of OpenID Connect at Freedom's own endpoints.
@Suite("Freedom ID by OpenID Connect", .mayBlock, .timeLimit(.minutes(10)))
struct OpenIDTests {
  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture.openID() }

  private func attempt(
    as name: String = "alice", _ decision: FreedomFixture.Decision = .allow
  ) throws -> JSONValue {
    let flow = try fixture.app.startFlow("freedom")
    guard flow["status"] == "active" else { return flow }
    try fixture.visit(flow, name, decision)
    return try fixture.app.finished(flow)
  }

  @discardableResult
  private func signedIn(as name: String = "alice") throws -> JSONValue {
    let end = try attempt(as: name)
    guard end["status"] == "succeeded" else {
      throw TestError("the sign-in did not succeed: \(end.text)")
    }
    return end
  }

  private func query(_ flow: JSONValue) -> [String: String] {
    let items = URLComponents(string: flow.url)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }
  }

  @Test(
    "a Freedom ID log-in by OpenID adds an account whose token token.get returns without consent")
  func allowed() throws {
    // OpenID has the relative `expires_in`; an absolute time is ignored (trap 11).
    try fixture.set([
      "openIDReply": ["expires_in": 1800, "access_expire_at": "2099-03-04T05:06:07Z"]
    ])
    let before = Date()
    let end = try signedIn()
    let account = try fixture.account(end.account)
    #expect(account["subject"] == (try fixture.person("alice")["id"]), "\(account.text)")
    let token = try fixture.token()
    #expect(token["accessToken"]?.stringValue?.count == 128)
    #expect((before + 1800...Date() + 1800).contains(try token.time("expiresAt")))
    #expect(try fixture.requests("openidToken") == 1 && fixture.requests("jwks") == 1)
    #expect(
      try fixture.consents().isEmpty, "a provider in mode oidc records no consent in the daemon")
    #expect(try signedIn(as: "bob").account != end.account)
    #expect(try fixture.accounts().count == 2)
  }

  @Test("Freedom ID's OpenID log-in URL has a state and nonce for each flow, and no code_challenge")
  func request() throws {
    let flows = try (0..<2).map { _ in try fixture.app.startFlow("freedom") }
    for flow in flows {
      #expect(flow.url.hasPrefix("\(fixture.sandbox.freedom)/openid?"))
      let query = query(flow)
      #expect(query["response_type"] == "code" && query["client_id"] == "acme")
      #expect(query["scope"] == "openid" && query["redirect_uri"] == flow.redirectURI)
      #expect((query["state"]?.count ?? 0) >= 22 && (query["nonce"]?.count ?? 0) >= 22)
      #expect(query["code_challenge"] == nil && query["code_challenge_method"] == nil)
    }
    #expect(query(flows[0])["state"] != query(flows[1])["state"])
    #expect(query(flows[0])["nonce"] != query(flows[1])["nonce"])
  }

  @Test("with pkce = true, an OpenID log-in at Freedom ID succeeds with an S256 challenge")
  func pkce() throws {
    let fixture = try FreedomFixture.openID("pkce = true")
    let flow = try fixture.app.startFlow("freedom")
    let query = query(flow)
    #expect(query["code_challenge_method"] == "S256" && query["code_challenge"]?.count == 43)
    try fixture.visit(flow)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
  }

  @Test("declining at the log-in or the consent ends an OpenID log-in at Freedom ID as denied")
  func denied() throws {
    for decision in [FreedomFixture.Decision.deny, .giveUp] {
      let end = try attempt(as: "alice", decision)
      #expect(end.failure[0] == "denied", "\(end.text)")
    }
    #expect(try fixture.accounts().isEmpty)
  }

  @Test(
    "a Freedom ID ID token that is missing or has a wrong claim or signature adds no account",
    arguments: [
      (["claims": ["iss": "https://passport.freedompay.kz"]], "iss"),
      (["claims": ["nonce": "other"]], "nonce"), (["badSignature": true], "signature"),
      (["omit": true], "no ID token"),
    ] as [(JSONValue, String)])
  func forged(settings: JSONValue, word: String) throws {
    try fixture.set(["idToken": settings])
    let end = try attempt()
    #expect(end.failure[0] == "provider_protocol_error", "\(end.text)")
    #expect(end["failure"]?["message"]?.stringValue?.contains(word) == true, "\(end.text)")
    #expect(try fixture.accounts().isEmpty && fixture.requests("userinfo") == 0)
    #expect(!end.text.contains("eyJ") && !fixture.daemon.log.contains("eyJ"))
  }

  @Test("an expired OpenID token of Freedom ID is renewed and keeps its account")
  func renewed() throws {
    try fixture.set(["openIDReply": ["expires_in": 0]])
    let account = try signedIn().account
    try fixture.set(["openIDReply": [:]])
    let token = try fixture.token()
    #expect(token["account"] == account && token["accessToken"]?.stringValue?.count == 128)
    #expect(try fixture.token() == token)
    #expect(try fixture.requests("openidToken") == 2)
  }

  @Test("a page opened before a restart of the daemon still completes Freedom ID's OpenID log-in")
  func restarted() throws {
    let flow = try fixture.app.startFlow("freedom")
    let back = try fixture.decide(at: flow.url)
    let after = try fixture.restarted()
    #expect(try after.flow(flow) == flow)
    try eventually("the restarted daemon answers at the redirect URL") {
      (try? Web.get(back).status) == 200
    }
    #expect(try after.app.finished(flow)["status"] == "succeeded")
  }
}
