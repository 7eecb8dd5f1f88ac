import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A program hands in the challenge with which a service has refused its token, follows `next`, and
/// makes its call again (RFC 9470).
@Suite("Answers to a service's challenge", .mayBlock, .timeLimit(.minutes(10)))
struct ChallengeTests {
  private static let stepUp =
    #"Bearer error="insufficient_user_authentication", acr_values="gold", max_age="300""#

  let fixture: OIDCFixture

  init() throws { fixture = try OIDCFixture(limits: "force_refresh_seconds = 1") }

  private func params(_ challenge: String, _ more: [String: JSONValue] = [:]) -> JSONValue {
    .object(["provider": "demo", "challenge": .string(challenge)].merging(more) { $1 })
  }

  private func follow(_ error: JSONValue) throws -> JSONValue {
    let next = try #require(error.data["next"]?["params"])
    let flow = try fixture.app.startFlow(
      "demo", next["kind"]?.stringValue ?? "", params: next["params"] ?? [:])
    try Person.signIn(at: flow.url)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    return next
  }

  @Test("a demand for another authentication ends with the sign-in that next names")
  func stepUp() throws {
    try fixture.app.signIn()
    let error = try fixture.app.error(of: "token.get", params(Self.stepUp))
    #expect(error.data["reason"] == "reauthentication_required")
    #expect(error.data["field"] == "challenge")
    try fixture.set(["idToken": ["claims": ["acr": "gold"]]])
    let next = try follow(error)
    #expect(next["kind"] == "authorize")
    #expect(next["params"]?["acrValues"] == "gold" && next["params"]?["maxAgeSeconds"] == 300)
    let token = try fixture.token(params(Self.stepUp))
    #expect(try token == fixture.token())
    #expect(try fixture.accounts.count == 1)
  }

  @Test("a sign-in that is older or of another class does not satisfy the service")
  func unsatisfied() throws {
    try fixture.set(["idToken": ["claims": ["acr": "silver"]]])
    try fixture.app.signIn()
    for challenge in [
      Self.stepUp,
      #"Bearer error="insufficient_user_authentication", acr_values="Silver gold""#,
    ] {
      let error = try fixture.app.error(of: "token.get", params(challenge))
      #expect(error.data["reason"] == "reauthentication_required", "\(challenge)")
    }
    let fit = #"DPoP error="insufficient_user_authentication", acr_values="gold silver""#
    #expect(try fixture.token(params(fit))["accessToken"] != nil)
  }

  @Test("a sign-in whose auth_time lies in the future does not satisfy the service")
  func future() throws {
    let later = Int64(Date().timeIntervalSince1970) + 3600
    try fixture.set(["idToken": ["claims": ["acr": "gold", "auth_time": .integer(later)]]])
    try fixture.app.signIn()
    let error = try fixture.app.error(of: "token.get", params(Self.stepUp))
    #expect(error.data["reason"] == "reauthentication_required")
  }

  @Test("a service may demand an authentication of any age, and the daemon goes on")
  func greatestAge() throws {
    let authenticated = Int64(Date().timeIntervalSince1970)
    try fixture.set([
      "idToken": ["claims": ["acr": "gold", "auth_time": .integer(authenticated)]]
    ])
    try fixture.app.signIn()
    for age in ["9223372036854775807", "9223372036854775750"] {
      let challenge = "Bearer error=insufficient_user_authentication, max_age=\(age)"
      #expect(try fixture.token(params(challenge))["accessToken"] != nil, "\(age)")
    }
    #expect(try fixture.token()["accessToken"] != nil)
  }

  @Test("a client without the right to the token does not learn how the user has authenticated")
  func withoutRight() throws {
    try fixture.app.signIn()
    let rule = """
      [[client]]
      name = "test"
      match = { user = \(getuid()) }
      allow = ["token.get demo"]
      scopes = ["email"]
      """
    try fixture.daemon.reload(config: fixture.sandbox.provider() + rule)
    for challenge in [Self.stepUp, "Bearer realm=api", "no challenge"] {
      let error = try fixture.app.error(of: "token.get", params(challenge))
      #expect(error.data["reason"] == "permission_denied", "\(error.text)")
    }
  }

  @Test("a token that the service calls invalid is refreshed")
  func invalidToken() throws {
    try fixture.app.signIn()
    let first = try fixture.token()
    let second = try fixture.token(params(#"Bearer realm="api", error="invalid_token""#))
    #expect(second["accessToken"] != first["accessToken"])
    #expect(try fixture.token() == second)
  }

  @Test("a demand for more scope ends with a grant that has it")
  func moreScope() throws {
    try fixture.app.signIn()
    let challenge = #"Bearer error="insufficient_scope", scope="openid payments""#
    let error = try fixture.app.error(of: "token.get", params(challenge))
    #expect(error.data["reason"] == "consent_required")
    _ = try follow(error)
    let token = try fixture.token(params(challenge))
    #expect(token["scope"]?.stringValue?.contains("payments") == true)
  }

  @Test("a challenge without an error gets the token as it is")
  func plain() throws {
    try fixture.app.signIn()
    #expect(try fixture.token(params("Bearer realm=api")) == fixture.token())
  }

  @Test(
    "a challenge that no token can answer is refused with field challenge",
    arguments: [
      ("Basic realm=x", [:]), ("", [:]), (#"Bearer error="invalid_request""#, [:]),
      ("Bearer", ["scope": "openid"]), ("Bearer", ["field": "idToken"]),
      ("Bearer", ["forceRefresh": true]),
    ] as [(String, [String: JSONValue])])
  func refused(challenge: String, more: [String: JSONValue]) throws {
    try fixture.app.signIn()
    let error = try fixture.app.error(of: "token.get", params(challenge, more))
    #expect(error.data["reason"] == "invalid_params")
    #expect(error.data["field"] == "challenge")
  }

  @Test("usherctl prints how to satisfy the service")
  func command() throws {
    try fixture.app.signIn()
    let (status, _, errors) = try fixture.daemon.usherctl([
      "token", "get", "demo", "--challenge", Self.stepUp,
    ])
    #expect(status != 0)
    #expect(errors.contains("usherctl login demo") || errors.contains("usherctl flow run demo"))
    #expect(errors.contains("gold"))
  }
}
