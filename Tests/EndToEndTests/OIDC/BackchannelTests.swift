import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Sign-ins that a person approves on the person's own device (OpenID Connect CIBA, poll mode).
@Suite("OIDC backchannel flow", .mayBlock, .timeLimit(.minutes(10)))
struct BackchannelTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws {
    fixture = try OIDCFixture(clock) { sandbox in
      """
      [[provider]]
      name = "bank"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_credential = "bank-secret"

      """
    }
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": "bank-secret", "value": "s3cret:with/odd+chars"])
  }

  private func begin(
    _ more: [String: JSONValue] = [:], at provider: String = "bank"
  ) throws -> JSONValue {
    let params: [String: JSONValue] = ["loginHint": "alice", "bindingMessage": "W4SCT"]
    return try start(.object(params.merging(more) { $1 }), at: provider)
  }

  private func start(_ params: JSONValue, at provider: String = "bank") throws -> JSONValue {
    try fixture.app.flow(
      in: fixture.app.call(
        "flow.start",
        ["provider": .string(provider), "kind": "backchannel", "params": params]))
  }

  /// Starts a flow and waits until the provider has asked the person.
  private func pending(_ more: [String: JSONValue] = [:]) throws -> JSONValue {
    var flow = try begin(more)
    try eventually("the provider has asked the person") {
      flow = try fixture.app.flow(
        in: fixture.app.call("flow.get", ["flow": flow["id"] ?? .null]))
      return flow["state"] == "authorization_pending"
    }
    #expect(flow["step"]?["type"] == "wait")
    return flow
  }

  /// Lets the person decide, and returns what the person's device showed.
  private func decide(_ isAllowed: Bool = true) throws -> [JSONValue] {
    try fixture.sandbox.control(
      "POST", "backchannel", ["user": "alice", "allow": .bool(isAllowed)])["requests"]?.arrayValue
      ?? []
  }

  @Test(
    "the person approves on the own device, which shows the binding message; the app gets tokens")
  func allowed() throws {
    let flow = try pending()
    let shown = try decide()
    #expect(shown.count == 1 && shown[0]["bindingMessage"] == "W4SCT")
    let end = try fixture.app.finished(flow, moving: clock)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.account(of: end)["subject"] == "usr_alice")
    let token = try fixture.token(["provider": "bank"])
    #expect(try fixture.userinfo(token["accessToken"]).status == 200)
    let renewed = try fixture.token(["provider": "bank", "forceRefresh": true])
    #expect(renewed["accessToken"] != token["accessToken"])
  }

  @Test("a person who denies the request ends the flow as denied")
  func denied() throws {
    let flow = try pending()
    #expect(try decide(false).count == 1)
    let end = try fixture.app.finished(flow, moving: clock)
    #expect(
      end.failure["reason"] == "denied" && end.failure["provider"]?["code"] == "access_denied")
  }

  @Test("a person who does not answer lets the flow expire with the provider's request")
  func expired() throws {
    try fixture.set(["deviceCodeSeconds": 30])
    let end = try fixture.app.finished(pending(), moving: clock)
    #expect(end.failure["reason"] == "expired")
    #expect(end.failure["provider"]?["code"] == "expired_token")
  }

  @Test(
    "the provider's refusal of the request ends the flow with the provider's error code",
    arguments: [
      (["loginHint": "nobody"], "unknown_user_id"),
      (["bindingMessage": "a message that is too long to show"], "invalid_binding_message"),
    ] as [([String: JSONValue], JSONValue)])
  func refused(params: [String: JSONValue], code: JSONValue) throws {
    let end = try fixture.app.finished(begin(params))
    #expect(end.failure["provider"]?["code"] == code)
    #expect(!end.hasSecret)
  }

  @Test("a public client, for which the provider asks nobody, is refused")
  func publicClient() throws {
    let end = try fixture.app.finished(begin(at: "demo"))
    #expect(end.failure["provider"]?["code"] == "unauthorized_client")
  }

  @Test(
    "an unusable answer of the provider ends the flow with provider_protocol_error",
    arguments: [["auth_req_id": .null], ["expires_in": .null], ["auth_req_id": 1]] as [JSONValue])
  func unusable(reply: JSONValue) throws {
    try fixture.set(["backchannelReply": reply])
    fixture.expectProtocolError(try fixture.app.finished(begin()))
  }

  @Test(
    "a provider without the endpoint or without the poll mode is not asked",
    arguments: [
      ["backchannel_authentication_endpoint": .null],
      ["backchannel_token_delivery_modes_supported": ["push"]],
    ] as [JSONValue])
  func unsupported(discovery: JSONValue) throws {
    try fixture.set(["discovery": discovery])
    fixture.expectProtocolError(try fixture.app.finished(begin()))
    #expect(try fixture.requests("backchannel") == 0)
  }

  @Test("an ID token without one of the requested classes of authentication is refused")
  func weakAuthentication() throws {
    let flow = try pending(["acrValues": "urn:example:gold"])
    _ = try decide()
    let end = try fixture.app.finished(flow, moving: clock)
    fixture.expectProtocolError(end)
    #expect(end.failure["message"]?.stringValue?.contains("acr") == true)
  }

  @Test("the flow goes on after a restart, with the same request")
  func restarted() throws {
    let flow = try pending()
    let restarted = try fixture.restarted()
    _ = try decide()
    let end = try restarted.app.finished(flow, moving: clock)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try restarted.requests("backchannel") == 1)
  }

  @Test("after a revocation the error names this flow with the same person, which ends the error")
  func next() throws {
    let flow = try pending()
    _ = try decide()
    let account = try fixture.app.finished(flow, moving: clock)["result"]?["account"] ?? .null
    _ = try fixture.app.call("token.revoke", ["account": account])
    let error = try fixture.app.error(of: "token.get", ["account": account])
    let next = try #require(error.data["next"]?["params"])
    #expect(next["kind"] == "backchannel" && next["params"]?["loginHint"] == "alice")
    let again = try start(next["params"] ?? [:])
    try eventually("the provider has asked the person") { try !decide().isEmpty }
    #expect(try fixture.app.finished(again, moving: clock)["status"] == "succeeded")
    #expect(try fixture.token(["account": account])["accessToken"] != nil)
  }

  @Test("usherctl login waits for the person's approval")
  func command() throws {
    let place = try TemporaryDirectory()
    let program = try RunningProgram(
      BuiltProduct.path("usherctl"),
      [
        "login", "bank", "--kind", "backchannel", "--login-hint", "alice", "--param",
        "bindingMessage=W4SCT", "--socket", fixture.daemon.socketPath,
      ],
      log: place.file("log"))
    try eventually("the provider has asked the person: \(program.log)") {
      guard program.isRunning else { throw TestError(program.log) }
      return try !decide().isEmpty
    }
    try eventually("usherctl ends", moving: clock) { !program.isRunning }
    #expect(try program.exitStatus() == 0)
    #expect(program.log.contains("signed in"))
  }
}
