import JSONRPC
import Testing
import UsherTestKit

@Suite("Parameters of token.get", .mayBlock, .timeLimit(.minutes(10)))
struct TokenCallTests {
  let fixture: OIDCFixture

  init() throws { fixture = try OIDCFixture() }

  @Test(
    "token.get for more scope than granted gets consent_required, and names the sign-in to start")
  func beyond() throws {
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let error = try fixture.app.error(
      of: "token.get", ["provider": "demo", "scope": "openid payments"])
    #expect(error["code"] == 1103)
    #expect(error.data["reason"] == "consent_required")
    #expect(error.data["field"] == "scope")
    #expect(error.data["next"]?["params"]?["params"]?["account"] == account)
    #expect(try fixture.refreshes == 0)
  }

  @Test("token.get refuses bad parameters by name and sends no refresh")
  func strictness() throws {
    try fixture.app.signIn()
    let refused: [(params: JSONValue, field: JSONValue)] = [
      ([:], "account"), (["provider": "nobody"], "provider"),
      (["provider": "demo", "minValidSeconds": -1], "minValidSeconds"),
      (["provider": "demo", "minValidSeconds": 86_401], "minValidSeconds"),
      (["provider": "demo", "audience": "x"], "audience"),
      (["provider": "demo", "scope": " "], "scope"), (["account": "acc_none"], "account"),
      (["provider": "demo", "colour": 1], "colour"), (["provider": 1], "provider"),
      (["provider": "demo", "forceRefresh": 1], "forceRefresh"),
    ]
    for (params, field) in refused {
      let error = try fixture.app.error(of: "token.get", params)
      #expect(error.data["field"] == field, "\(params.text): \(error.text)")
    }
    #expect(try fixture.refreshes == 0)
  }
}
