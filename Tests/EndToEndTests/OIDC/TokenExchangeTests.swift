import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Tokens for an audience in exchange for the account's access token (RFC 8693).
@Suite("Token exchange", .mayBlock, .timeLimit(.minutes(10)))
struct TokenExchangeTests {
  private static let settings = "audience_parameter = \"audience\"\ntoken_exchange = true"
  private static let grantType = "urn:ietf:params:oauth:grant-type:token-exchange"

  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws {
    fixture = try OIDCFixture(
      clock, provider: Self.settings, limits: "force_refresh_seconds = 60")
  }

  private func token(
    _ audience: String?, _ more: [String: JSONValue] = [:], at other: OIDCFixture? = nil
  ) throws -> JSONValue {
    try (other ?? fixture).token(params(audience, more))
  }

  private func params(_ audience: String?, _ more: [String: JSONValue] = [:]) -> JSONValue {
    var params: [String: JSONValue] = ["provider": "demo"]
    params["audience"] = audience.map { .string($0) }
    return .object(params.merging(more) { $1 })
  }

  private var exchanges: Int {
    get throws { try fixture.sandbox.requests("token", grantType: Self.grantType) }
  }

  /// What the provider says about an access token.
  private func introspect(_ token: JSONValue) throws -> JSONValue {
    let reply = try Web.post(
      "\(fixture.sandbox.issuer)/introspect",
      form: [
        "token": token["accessToken"]?.stringValue ?? "", "client_id": "usher-confidential",
        "client_secret": "s3cret:with/odd+chars",
      ])
    return try JSONValue(parsing: reply.body)
  }

  @Test("an audience gets a token by exchange, which is kept also over a restart")
  func whole() throws {
    try fixture.app.signIn()
    let main = try token(nil)
    let mail = try token("mail")
    #expect(try introspect(mail)["aud"] == "mail")
    #expect(mail["accessToken"] != main["accessToken"])
    #expect(try token("mail") == mail)
    #expect(try token(nil) == main)
    #expect(try exchanges == 1)
    #expect(try fixture.refreshes == 0)
    let restarted = try fixture.restarted()
    #expect(try token("mail", at: restarted) == mail)
    #expect(try exchanges == 1)
    #expect(!fixture.daemon.log.contains(mail["accessToken"]?.stringValue ?? "at_"))
  }

  @Test("a hundred simultaneous calls for one audience cause one exchange")
  func hundred() throws {
    try fixture.app.signIn()
    let clients = try (0..<100).map { _ in try fixture.daemon.client() }
    for client in clients {
      let call = JSONValue.object([
        "jsonrpc": "2.0", "id": 1, "method": "token.get", "params": params("mail"),
      ])
      try client.send(String(decoding: call.encoded(), as: UTF8.self))
    }
    let tokens = try clients.map { try $0.receive()?["result"]?["accessToken"] }
    #expect(Set(tokens).count == 1 && tokens[0] != nil)
    #expect(try exchanges == 1)
  }

  @Test("when both tokens have ended, the account's token is refreshed and exchanged again")
  func ended() throws {
    try fixture.app.signIn()
    let first = try token("mail")
    try clock.advance(by: 301)
    let second = try token("mail")
    #expect(second["accessToken"] != first["accessToken"])
    #expect(try introspect(second)["aud"] == "mail")
    #expect(try fixture.refreshes == 1)
    #expect(try exchanges == 2)
  }

  @Test("forceRefresh exchanges again, and leaves the account's own token as it is")
  func forced() throws {
    try fixture.app.signIn()
    let main = try token(nil)
    let first = try token("mail")
    let second = try token("mail", ["forceRefresh": true])
    #expect(second["accessToken"] != first["accessToken"])
    #expect(try token(nil) == main)
    #expect(try fixture.refreshes == 0)
  }

  @Test("if the provider does not accept the account's token any more, it is refreshed once")
  func subjectRefused() throws {
    try fixture.app.signIn()
    let main = try token(nil)["accessToken"]?.stringValue ?? ""
    _ = try Web.post(
      "\(fixture.sandbox.issuer)/revoke", form: ["token": main, "client_id": "usher"])
    // A token that is new is not refreshed: every call could cause a refresh otherwise.
    let early = try fixture.app.error(of: "token.get", params("mail"))
    #expect(early.data["reason"] == "provider_rejected")
    #expect(early.data["provider"]?["code"] == "invalid_request")
    #expect(try fixture.refreshes == 0)
    try clock.advance(by: 61)
    #expect(try introspect(token("mail"))["aud"] == "mail")
    #expect(try fixture.refreshes == 1)
    #expect(try exchanges == 3)
  }

  @Test(
    "an answer that is not an access token of the requested type is refused, and nothing is kept",
    arguments: [
      ["issued_token_type": .null], ["token_type": "N_A"], ["access_token": .null],
      ["issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token"],
      ["issued_token_type": "urn:ietf:params:oauth:token-type:id_token"],
    ] as [JSONValue])
  func faults(reply: JSONValue) throws {
    try fixture.app.signIn()
    try fixture.set(["tokenReply": reply])
    let error = try fixture.app.error(of: "token.get", params("mail"))
    #expect(error.data["reason"] == "provider_protocol_error", "\(error.text)")
    #expect(!error.hasSecret)
    try fixture.set(["tokenReply": [:]])
    #expect(try introspect(token("mail"))["aud"] == "mail")
  }

  @Test("a refresh token that comes with the exchanged token does not replace the account's")
  func foreignRefreshToken() throws {
    try fixture.app.signIn()
    try fixture.set(["tokenReply": ["refresh_token": "rt_of_the_exchange"]])
    _ = try token("mail")
    try fixture.set(["tokenReply": [:]])
    try clock.advance(by: 301)
    #expect(try token(nil)["accessToken"] != nil)
  }

  @Test("an audience that the provider refuses fails without a sign-in in next")
  func refusedAudience() throws {
    try fixture.set(["exchangeAudiences": ["mail"]])
    try fixture.app.signIn()
    let error = try fixture.app.error(of: "token.get", params("files"))
    #expect(error.data["reason"] == "provider_rejected")
    #expect(error.data["field"] == "audience" && error.data["next"] == nil)
    #expect(error.data["provider"]?["code"] == "invalid_target")
    // The refusal is remembered, and other audiences are not affected.
    _ = try fixture.app.error(of: "token.get", params("files"))
    #expect(try exchanges == 1)
    #expect(try token("mail")["accessToken"] != nil)
  }

  @Test("a part of the scope can be requested for an audience")
  func partOfScope() throws {
    try fixture.app.signIn()
    let part = try token("mail", ["scope": "openid"])
    #expect(try introspect(part)["scope"] == "openid")
    let error = try fixture.app.error(of: "token.get", params(nil, ["scope": "openid"]))
    #expect(error.data["field"] == "scope")
  }

  @Test("an account without a refresh token gets tokens by exchange until its own token ends")
  func withoutRefreshToken() throws {
    #expect(try fixture.attempt(params: ["scope": "openid"])["status"] == "succeeded")
    #expect(try introspect(token("mail"))["aud"] == "mail")
    try clock.advance(by: 301)
    let error = try fixture.app.error(of: "token.get", params("mail"))
    #expect(error.data["reason"] == "reauthentication_required")
    #expect(try exchanges == 1)
  }

  @Test("account.forget revokes the exchanged tokens")
  func forgotten() throws {
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let mail = try token("mail")
    #expect(try introspect(mail)["active"] == true)
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done")
    #expect(try introspect(mail)["active"] == false)
  }

  @Test("a sign-in at a provider with token exchange names no audiences")
  func signIn() throws {
    let error = try fixture.app.error(
      of: "flow.start",
      ["provider": "demo", "kind": "authorize", "params": ["audiences": ["mail"]]])
    #expect(error.data["field"] == "params.audiences")
  }

  @Test("usherctl token get prints an exchanged token")
  func command() throws {
    try fixture.app.signIn()
    let (status, output, errors) = try fixture.daemon.usherctl([
      "token", "get", "demo", "--audience", "mail",
    ])
    #expect(status == 0, "\(errors)")
    let printed = JSONValue.object([
      "accessToken": .string(output.trimmingCharacters(in: .newlines))
    ])
    #expect(try introspect(printed)["aud"] == "mail")
  }
}
