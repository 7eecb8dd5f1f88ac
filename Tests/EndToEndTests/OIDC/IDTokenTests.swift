import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite("ID tokens for programs", .mayBlock, .timeLimit(.minutes(10)))
struct IDTokenTests {
  private static let asked: JSONValue = ["provider": "demo", "field": "idToken"]

  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws { fixture = try OIDCFixture(clock) }

  /// Returns the claims of the ID token that `token.get` returns.
  private func claims(_ reply: JSONValue) throws -> JSONValue {
    let token = try #require(reply["idToken"]?.stringValue)
    let parts = token.split(separator: ".")
    try #require(parts.count == 3)
    let text = parts[1].replacing("-", with: "+").replacing("_", with: "/")
    let padded = String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    let data = try #require(Data(base64Encoded: padded))
    return try JSONValue(parsing: [UInt8](data))
  }

  private func get() throws -> JSONValue { try fixture.token(Self.asked) }

  private func refusal() throws -> JSONValue { try fixture.app.error(of: "token.get", Self.asked) }

  @Test("token.get returns the ID token of the sign-in if it is asked for, and only that")
  func given() throws {
    try fixture.app.signIn()
    let reply = try get()
    let claims = try claims(reply)
    #expect(reply["accessToken"] == nil && reply["tokenType"] == "N_A" && reply["scope"] == "")
    #expect(reply["issuer"]?.stringValue == fixture.sandbox.issuer)
    #expect(claims["iss"] == reply["issuer"] && claims["aud"] == "usher")
    let access = try fixture.token()
    #expect(access["idToken"] == nil && access["issuer"] == reply["issuer"])
    #expect(access["accessToken"] != reply["idToken"])
    #expect(try get() == reply)
    try fixture.daemon.restart()
    let app = try fixture.daemon.client()
    #expect(try app.call("token.get", Self.asked) == reply)
    #expect(try fixture.refreshes == 0)
  }

  @Test("an expired ID token is renewed by one refresh, however many programs ask for it")
  func renewed() throws {
    try fixture.app.signIn()
    let first = try get()
    try clock.advance(by: 301)
    let clients = try (0..<20).map { _ in try fixture.daemon.client() }
    for client in clients {
      try client.send(
        #"{"jsonrpc":"2.0","id":1,"method":"token.get","#
          + #""params":{"provider":"demo","field":"idToken"}}"#)
    }
    let replies = try clients.map { try $0.receive()?["result"] }
    #expect(Set(replies).count == 1)
    let second = try #require(replies[0])
    #expect(second["idToken"] != first["idToken"] && second["idToken"] != nil)
    #expect(try claims(second)["sub"] == claims(first)["sub"])
    #expect(try fixture.refreshes == 1)
    #expect(try fixture.token()["accessToken"] != nil && fixture.refreshes == 1)
    // A caller that needs a longer lifetime gets another one.
    try clock.advance(by: 250)
    let long: JSONValue = ["provider": "demo", "field": "idToken", "minValidSeconds": 200]
    #expect(try fixture.token(long)["idToken"] != second["idToken"])
    #expect(try fixture.refreshes == 2)
  }

  @Test("forceRefresh returns a new ID token, as often as for an access token")
  func forced() throws {
    try fixture.app.signIn()
    let first = try get()
    try clock.advance(by: 1)
    let forced: JSONValue = ["provider": "demo", "field": "idToken", "forceRefresh": true]
    #expect(try fixture.token(forced)["idToken"] != first["idToken"])
    #expect(try fixture.app.reason(of: "token.get", forced) == "rate_limited")
    #expect(try fixture.refreshes == 1)
  }

  @Test("a forced refresh that returns no ID token fails, and the present one stays for others")
  func forcedWithoutNew() throws {
    try fixture.set(["idTokenOnRefresh": false])
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let present = try get()
    let forced: JSONValue = ["provider": "demo", "field": "idToken", "forceRefresh": true]
    let error = try fixture.app.error(of: "token.get", forced)
    #expect(error.data["reason"] == "reauthentication_required")
    #expect(error.data["next"]?["params"]?["params"]?["account"] == account)
    #expect(error["message"]?.stringValue?.contains("no ID token") == true)
    #expect(try get() == present)
    #expect(try fixture.refreshes == 1)
  }

  @Test("if the provider renews no ID token, its expiry calls for a sign-in, after one refresh")
  func notRenewed() throws {
    try fixture.set(["idTokenOnRefresh": false, "accessTokenSeconds": 3600])
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    try clock.advance(by: 301)
    for _ in 0..<3 {
      let error = try refusal()
      #expect(error.data["reason"] == "reauthentication_required")
      #expect(error.data["next"]?["params"]?["params"]?["account"] == account)
      #expect(error["message"]?.stringValue?.contains("ID token") == true)
    }
    #expect(try fixture.refreshes == 1)
    #expect(try fixture.token()["accessToken"] != nil)
    try fixture.app.signIn()
    #expect(try get()["idToken"] != nil)
  }

  @Test(
    "an ID token of a refresh with a wrong signature is never handed out, and the access token is")
  func badSignature() throws {
    try fixture.app.signIn()
    try fixture.set(["idToken": ["badSignature": true]])
    try clock.advance(by: 301)
    let access = try fixture.token()
    let error = try refusal()
    #expect(error.data["reason"] == "provider_protocol_error" && !error.hasSecret)
    #expect(error["message"]?.stringValue?.contains("signature") == true)
    #expect(try refusal().data["reason"] == "reauthentication_required")
    #expect(try fixture.token() == access && fixture.refreshes == 1)
    try fixture.mend()
    try clock.advance(by: 301)
    #expect(try fixture.token()["accessToken"] != access["accessToken"])
    #expect(try get()["idToken"] != nil && fixture.refreshes == 2)
  }

  @Test("while the provider's keys cannot be fetched, a refreshed ID token waits for them")
  func keysUnreachable() throws {
    try fixture.app.signIn()
    try clock.advance(by: 3700)
    try fixture.spoil("jwks", ["status": 503])
    #expect(try fixture.token()["accessToken"] != nil)
    #expect(try refusal().data["reason"] == "provider_unreachable")
    try fixture.mend()
    try clock.advance(by: 2)
    #expect(try get()["idToken"] != nil && fixture.refreshes == 1)
  }

  @Test("an ID token of a refresh with another azp ends the grant")
  func otherAuthorizedParty() throws {
    try fixture.app.signIn()
    try fixture.set(["idToken": ["claims": ["azp": "another"]]])
    try clock.advance(by: 301)
    #expect(try refusal().data["reason"] == "reauthentication_required")
    #expect(
      try fixture.app.reason(of: "token.get", ["provider": "demo"]) == "reauthentication_required")
  }

  @Test("token.get with a field and a scope, or a field that does not exist, is refused by name")
  func strictness() throws {
    try fixture.app.signIn()
    for (more, field) in [
      (["field": "idToken", "scope": "openid"], "scope"),
      (["field": "idToken", "audience": "x"], "audience"), (["field": "refreshToken"], "field"),
    ] as [([String: JSONValue], JSONValue)] {
      let params = JSONValue.object(["provider": "demo"].merging(more) { $1 })
      #expect(try fixture.app.error(of: "token.get", params).data["field"] == field)
    }
  }

  @Test("usherctl token get --id-token prints the ID token, and token list tells the kinds apart")
  func command() throws {
    try fixture.app.signIn()
    let token = try #require(try get()["idToken"]?.stringValue)
    let (status, output, errors) = try fixture.daemon.usherctl([
      "token", "get", "demo", "--id-token",
    ])
    #expect(status == 0 && output == token + "\n", "\(errors)")
    let (_, list, _) = try fixture.daemon.usherctl(["token", "list"])
    #expect(list.contains("  id  ") && list.contains("  access  ") && !list.contains(token))
  }

  @Test("account.get tells how the provider authenticated the person")
  func authentication() throws {
    try fixture.set(["idToken": ["claims": ["acr": "gold", "amr": ["pwd", "otp"]]]])
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let shown = try fixture.app.call("account.get", ["account": account])["account"]
    #expect(shown?["authentication"]?["acr"] == "gold")
    #expect(shown?["authentication"]?["amr"] == ["pwd", "otp"])
    #expect(shown?["tokens"]?.arrayValue?.map { $0["field"] } == [nil, "idToken"])
  }

  @Test("a sign-in with acrValues fails if the provider authenticated the person otherwise")
  func authenticationClass() throws {
    try fixture.set(["idToken": ["claims": ["acr": "bronze"]]])
    let flow = try fixture.attempt(params: ["acrValues": "silver gold"])
    #expect(flow["status"] == "failed")
    #expect(flow["failure"]?["message"]?.stringValue?.contains("acr") == true)
    try fixture.set(["idToken": ["claims": ["acr": "gold"]]])
    #expect(try fixture.attempt(params: ["acrValues": "silver gold"])["status"] == "succeeded")
  }
}

@Suite("The right to ID tokens", .mayBlock, .timeLimit(.minutes(10)))
struct IDTokenRightTests {
  private func reasons(_ allow: String) throws -> [String?] {
    let fixture = try OIDCFixture(
      limits: """
        [[client]]
        name = "till"
        match = { user = \(getuid()) }
        allow = ["flow.*", \(allow)]
        """)
    try fixture.app.signIn()
    return try ["accessToken", "idToken"].map { field in
      let reply = try fixture.app.reply(
        to: "token.get", ["provider": "demo", "field": .string(field)])
      return reply["error"]?["data"]?["reason"]?.stringValue
    }
  }

  @Test("a client rule allows ID tokens only by name, and access tokens not by that")
  func separate() throws {
    #expect(try reasons(#""token.get""#) == [nil, "permission_denied"])
    #expect(try reasons(#""token.get demo/idToken""#) == ["permission_denied", nil])
    #expect(try reasons(#""token.get", "token.get */idToken""#) == [nil, nil])
  }
}
