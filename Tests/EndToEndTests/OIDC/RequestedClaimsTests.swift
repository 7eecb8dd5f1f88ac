import JSONRPC
import Testing
import UsherTestKit

@Suite("Claims that a sign-in requests", .mayBlock, .timeLimit(.minutes(10)))
struct RequestedClaimsTests {
  private static let params: JSONValue = [
    "scope": "openid", "claims": ["userinfo": ["email": ["essential": true]]],
  ]

  @Test("claims that a sign-in requests are in the profile, without their scope")
  func requested() throws {
    let fixture = try OIDCFixture()
    for (params, email) in [
      (["scope": "openid"], nil), (Self.params, "alice@example.com"),
    ] as [(JSONValue, String?)] {
      let end = try fixture.attempt(params: params)
      let account = try fixture.account(of: end)
      #expect(account["profile"]?["email"]?.stringValue == email)
      _ = try fixture.app.call("account.forget", ["account": end["result"]?["account"] ?? .null])
    }
  }

  @Test("claims are refused before the page if the provider does not support the parameter")
  func unsupported() throws {
    let fixture = try OIDCFixture()
    try fixture.set(["discovery": ["claims_parameter_supported": false]])
    let flow = try fixture.app.startFlow(params: Self.params)
    #expect(flow["status"] == "failed")
    #expect(flow.failure["reason"] == "invalid_request")
    #expect(
      flow.failure["message"]?.stringValue?.contains("claims_parameter_supported") == true)
    let error = try fixture.app.error(
      of: "flow.start",
      ["provider": "demo", "kind": "authorize", "params": ["claims": ["other": [:]]]])
    #expect(error.data["field"] == "params.claims")
  }
}
