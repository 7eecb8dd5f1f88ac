import JSONRPC
import Testing
import UsherTestKit

@Suite("asking for a token", .mayBlock, .timeLimit(.minutes(10)))
struct TokenCallTests {
  let scene: Scene

  init() throws { scene = try Scene() }

  @Test("more than was granted needs the person's consent")
  func beyond() throws {
    let account = try scene.app.signIn()["result"]?["account"] ?? .null
    let error = try scene.app.error(
      of: "token.get", ["provider": "demo", "scope": "openid payments"])
    #expect(error["code"] == 1103)
    #expect(error.data["reason"] == "consent_required")
    #expect(error.data["field"] == "scope")
    #expect(error.data["next"]?["params"]?["params"]?["account"] == account)
    #expect(try scene.refreshes == 0)
  }

  @Test(
    "what token.get does not understand it refuses, by the member's name",
    arguments: [
      ([:], "account"), (["provider": "nobody"], "provider"),
      (["provider": "demo", "minValidSeconds": -1], "minValidSeconds"),
      (["provider": "demo", "minValidSeconds": 86_401], "minValidSeconds"),
      (["provider": "demo", "audience": "x"], "audience"),
      (["provider": "demo", "scope": " "], "scope"), (["account": "acc_none"], "account"),
      (["provider": "demo", "colour": 1], "colour"), (["provider": 1], "provider"),
      (["provider": "demo", "forceRefresh": 1], "forceRefresh"),
    ] as [(JSONValue, JSONValue)])
  func strictness(_ params: JSONValue, _ field: JSONValue) throws {
    try scene.app.signIn()
    let error = try scene.app.error(of: "token.get", params)
    #expect(error.data["field"] == field)
    #expect(try scene.refreshes == 0)
  }

  @Test(
    "a lifetime is read however it is written; without one nothing is known",
    arguments: [
      (300, true), (300.5, true), ("300", true), (nil, false), ("soon", false), ([], false),
      (1e30, true), (-5, true),
    ] as [(JSONValue, Bool)])
  func lifetimes(_ value: JSONValue, _ isKnown: Bool) throws {
    try scene.set(["tokenReply": ["expires_in": value, "token_type": "bearer"]])
    try scene.app.signIn()
    let token = try scene.token()
    #expect((token["expiresAt"] != .null) == isKnown)
    #expect(token["tokenType"] == "bearer")
    // Only the one that was dead on arrival is renewed.
    #expect(try scene.refreshes == (value == -5 ? 1 : 0))
  }

  @Test("a token of another type than Bearer is not taken")
  func tokenType() throws {
    try scene.set(["tokenReply": ["token_type": "MAC"]])
    #expect(try scene.attempt().failure["reason"] == "provider_protocol_error")
  }
}
