import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Mode `oidc`: the flow of OpenID Connect at Freedom's own endpoints.
@Suite("Freedom ID's OpenID", .mayBlock, .timeLimit(.minutes(10)))
struct OpenIDTests {
  private let scene: FreedomScene

  init() throws { scene = try FreedomScene.openID() }

  private func attempt(
    as name: String = "alice", _ decision: FreedomScene.Decision = .allow,
    in scene: FreedomScene? = nil
  ) throws -> JSONValue {
    let scene = scene ?? self.scene
    let flow = try scene.app.startFlow("freedom")
    guard flow["status"] == "active" else { return flow }
    try scene.visit(flow, name, decision)
    return try scene.app.finished(flow)
  }

  @discardableResult
  private func signedIn(as name: String = "alice") throws -> JSONValue {
    let end = try attempt(as: name)
    guard end["status"] == "succeeded" else { throw TestTrouble("not signed in: \(end.text)") }
    return end
  }

  private func query(_ flow: JSONValue) -> [String: String] {
    let items = URLComponents(string: flow.url)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }
  }

  @Test("log in and allow in the page: an account, whose tokens any program of the user may have")
  func allowed() throws {
    let end = try signedIn()
    let account = try scene.account(end.account)
    #expect(account["subject"] == (try scene.person("alice")["id"]), "\(account.text)")
    let token = try scene.token()
    #expect(token["accessToken"]?.stringValue?.count == 128)
    #expect(try scene.requests("openidToken") == 1 && scene.requests("jwks") == 1)
    #expect(try scene.consents().isEmpty, "the daemon's own consents play no part")
    #expect(try signedIn(as: "bob").account != end.account)
    #expect(try scene.accounts().count == 2)
  }

  @Test("the page is asked for with state and nonce, and with no code_challenge")
  func request() throws {
    let flows = try (0..<2).map { _ in try scene.app.startFlow("freedom") }
    for flow in flows {
      #expect(flow.url.hasPrefix("\(scene.sandbox.freedom)/openid?"))
      let query = query(flow)
      #expect(query["response_type"] == "code" && query["client_id"] == "acme")
      #expect(query["scope"] == "openid" && query["redirect_uri"] == flow.redirectURI)
      #expect((query["state"]?.count ?? 0) >= 22 && (query["nonce"]?.count ?? 0) >= 22)
      #expect(query["code_challenge"] == nil && query["code_challenge_method"] == nil)
    }
    #expect(query(flows[0])["state"] != query(flows[1])["state"])
    #expect(query(flows[0])["nonce"] != query(flows[1])["nonce"])
  }

  @Test("pkce = true sends it, S256, and the code is redeemed with its verifier")
  func pkce() throws {
    let wire = try PartnerWire()
    let scene = try FreedomScene.openID("pkce = true", wire: wire)
    let flow = try scene.app.startFlow("freedom")
    let query = query(flow)
    #expect(query["code_challenge_method"] == "S256" && query["code_challenge"]?.count == 43)
    try scene.visit(flow)
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
    let body = try JSONValue(parsing: #require(wire.requests("POST", "/oidc/token").last).body)
    #expect((43...128).contains(body["code_verifier"]?.stringValue?.count ?? 0))
  }

  @Test("who declines has denied")
  func denied() throws {
    for decision in [FreedomScene.Decision.deny, .giveUp] {
      let end = try attempt(as: "alice", decision)
      #expect(end.failure[0] == "denied", "\(end.text)")
    }
    #expect(try scene.accounts().isEmpty)
  }

  @Test("an answer with another state, or none, never touches the flow")
  func otherState() throws {
    let flow = try scene.app.startFlow("freedom")
    let back = try scene.decide(at: flow.url)
    let state = try #require(query(flow)["state"])
    for other in ["", "other", String(state.dropLast()), state + "0"] {
      let bent = back.replacing("state=\(state)", with: "state=\(other)")
      #expect(try Web.get(bent).status == 400)
    }
    #expect(try scene.flow(flow) == flow && scene.requests("openidToken") == 0)
    #expect(try Web.get(back).status == 200)
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
  }

  struct Forgery: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let settings: JSONValue
    /// What the failure's message must speak of.
    let word: String

    init(_ name: String, _ settings: JSONValue, says word: String) {
      (testDescription, self.settings, self.word) = (name, settings, word)
    }

    init(_ name: String, _ claim: String, _ value: JSONValue) {
      self.init(name, ["claims": .object([claim: value])], says: claim)
    }

    static let now = Int64(Date().timeIntervalSince1970)

    static let all = [
      Forgery("another nonce", "nonce", "other"), Forgery("no nonce", "nonce", nil),
      Forgery("another issuer", "iss", "https://evil.example.com"),
      Forgery("the vendor's issuer, but not ours", "iss", "https://passport.freedompay.kz"),
      Forgery("another audience", "aud", "other"), Forgery("no audience", "aud", nil),
      Forgery("several audiences without azp", ["claims": ["aud": ["acme", "x"]]], says: "azp"),
      Forgery("expired", "exp", .integer(now - 3600)),
      Forgery("issued in the future", "iat", .integer(now + 3600)), Forgery("no sub", "sub", nil),
      Forgery("a bad signature", ["badSignature": true], says: "signature"),
      Forgery("alg none", ["alg": "none"], says: "alg none"),
      Forgery(
        "the public key as HMAC secret", ["alg": "HS256-with-public-key"], says: "alg HS256"),
      Forgery("no ID token", ["omit": true], says: "no ID token"),
    ]
  }

  @Test("an ID token that must not be believed: no account", arguments: Forgery.all)
  func forged(_ forgery: Forgery) throws {
    try scene.set(["idToken": forgery.settings])
    let end = try attempt()
    #expect(end.failure[0] == "provider_protocol_error", "\(end.text)")
    #expect(end["failure"]?["message"]?.stringValue?.contains(forgery.word) == true, "\(end.text)")
    #expect(try scene.accounts().isEmpty && scene.requests("userinfo") == 0)
    #expect(!end.text.contains("eyJ") && !scene.daemon.log.contains("eyJ"))
  }

  @Test("a token that is over is renewed, and the account stays")
  func renewed() throws {
    try scene.set(["openIDReply": ["expires_in": 0]])
    let account = try signedIn().account
    try scene.set(["openIDReply": [:]])
    let token = try scene.token()
    #expect(token["account"] == account && token["accessToken"]?.stringValue?.count == 128)
    #expect(try scene.token() == token)
    #expect(try scene.requests("openidToken") == 2)
  }

  @Test("a renewal that the provider refuses is the end of the grant")
  func refused() throws {
    try scene.set(["openIDReply": ["expires_in": 0]])
    try signedIn()
    try scene.sandbox.control("POST", "freedomid/revokeAll")
    for _ in 0..<2 {
      let error = try scene.tokenError()
      #expect(error["code"] == 1102 && error.reason == "reauthentication_required")
      #expect(error.next?["kind"] == "authorize", "\(error.text)")
    }
    #expect(try scene.requests("openidToken") == 2)
    try scene.set(["openIDReply": [:]])
    try signedIn()
    #expect(try scene.token()["accessToken"] != nil)
  }

  @Test("a wrong secret is the operator's trouble, and brings no account")
  func client() throws {
    let end = try attempt(in: FreedomScene.openID(secret: "another"))
    #expect(end.failure[0] == "provider_rejected", "\(end.text)")
  }

  @Test("there is one kind, authorize, and no grants to ask for")
  func kinds() throws {
    let provider = try scene.app.call("provider.get", ["provider": "freedom"])
    let flows = (provider["provider"] ?? provider)["flows"]?.arrayValue ?? []
    #expect(flows.map { $0["kind"] } == ["authorize"], "\(provider.text)")
    for (kind, params): (String, JSONValue) in [
      ("requestProfile", ["phone": "+447700900456", "grants": ["read.firstname"]]),
      ("createUser", ["phone": "+77015550001"]), ("authorize", ["grants": ["read.firstname"]]),
      ("device", [:]),
    ] {
      let error = try scene.app.error(
        of: "flow.start", ["provider": "freedom", "kind": .string(kind), "params": params])
      #expect(error["code"] == -32602 || error["code"] == 1001, "\(kind): \(error.text)")
    }
  }
}

/// `kill -9` in mode `oidc`.
@Suite("Freedom ID's OpenID and kill -9", .mayBlock, .timeLimit(.minutes(10)))
struct OpenIDSurvivalTests {
  private let scene: FreedomScene

  init() throws { scene = try FreedomScene.openID() }

  @Test("the page that is open in the browser still completes the log-in")
  func browser() throws {
    let flow = try scene.app.startFlow("freedom")
    let back = try scene.decide(at: flow.url)
    let after = try scene.restarted()
    #expect(try after.flow(flow) == flow)
    try eventually("it listens again") { (try? Web.get(back).status) == 200 }
    #expect(try after.app.finished(flow)["status"] == "succeeded")
  }

  @Test("a code in flight is asked for again, with interrupted", arguments: [false, true])
  func exchanging(processed: Bool) throws {
    let flow = try scene.app.startFlow("freedom")
    try scene.spoil(
      "openidToken", ["delayMs": 60_000, "processed": .bool(processed)], times: 1)
    try scene.visit(flow)
    try eventually("it is under way") { try scene.requests("openidToken") == 1 }
    let after = try scene.restarted()
    let again = try after.anotherPage(than: flow)
    #expect(again.problem == "interrupted", "\(again.text)")
    try after.visit(again)
    let end = try after.app.finished(again)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try after.restarted().token()["account"] == end.account)
  }
}
