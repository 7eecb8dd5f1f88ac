import JSONRPC
import Testing
import UsherTestKit

/// Grants that the provider names, so that they can be extended and deleted (Grant Management for
/// OAuth 2.0).
@Suite("Grants that the provider names", .mayBlock, .timeLimit(.minutes(10)))
struct GrantManagementTests {
  let fixture: OIDCFixture

  init() throws {
    fixture = try OIDCFixture { sandbox in
      """
      [[provider]]
      name = "managed"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_credential = "work-secret"
      grant_management = true

      [[provider]]
      name = "bound"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_credential = "work-secret"
      grant_management = true
      dpop = true

      """
    }
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": "work-secret", "value": "s3cret:with/odd+chars"])
  }

  /// Signs in, and returns the account and the address of the provider's page.
  private func signIn(
    _ params: JSONValue = [:], at provider: String = "managed"
  ) throws -> (account: JSONValue, page: String) {
    let flow = try fixture.app.startFlow(provider, params: params)
    try Person.signIn(at: flow.url)
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    return (end["result"]?["account"] ?? .null, flow.url)
  }

  private func deletions() throws -> [JSONValue] {
    let reply = try fixture.sandbox.control("GET", "requests?endpoint=grants")
    return reply["requests"]?.arrayValue ?? []
  }

  private func grantID(in page: String) -> String? {
    page.firstMatch(of: /[?&]grant_id=([^&]+)/).map { String($0.1) }
  }

  @Test("the first sign-in creates a grant, and the next one of the account extends it")
  func merge() throws {
    let (account, first) = try signIn()
    #expect(first.contains("grant_management_action=create") && grantID(in: first) == nil)
    let (again, second) = try signIn(["account": account])
    #expect(again == account)
    #expect(second.contains("grant_management_action=merge"))
    let id = try #require(grantID(in: second))
    // The grant is the same after a restart, and its name is in no reply.
    let fixture = try fixture.restarted()
    let flow = try fixture.app.startFlow("managed", params: ["account": account])
    #expect(grantID(in: flow.url) == id)
    #expect(try !fixture.app.call("account.get", ["account": account]).text.contains(id))
    #expect(!fixture.daemon.log.contains(id))
  }

  @Test("a forgotten account's grant is deleted at the provider, besides its tokens")
  func forget() throws {
    let (account, _) = try signIn()
    let token = try fixture.token(["account": account])
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done" && reply["living"] == nil, "\(reply.text)")
    #expect(try deletions().map { $0["status"] } == [204])
    #expect(try fixture.revocations > 0)
    #expect(try fixture.userinfo(token["accessToken"]).status == 401)
  }

  @Test("where tokens are bound to a key, so is the one with which grants are deleted")
  func bound() throws {
    try fixture.set(["requireDPoP": true, "dpopNonce": "nonce-1"])
    // The second deletion has a key of its own.
    for _ in 1...2 {
      let (account, _) = try signIn(at: "bound")
      let reply = try fixture.app.call("account.forget", ["account": account])
      #expect(reply["revoked"] == "done" && reply["living"] == nil, "\(reply.text)")
    }
    #expect(try deletions().filter { $0["status"] == 204 }.count == 2)
  }

  @Test(
    "a grant that the provider does not delete is reported, and tokens are revoked all the same")
  func refused() throws {
    let (account, _) = try signIn()
    try fixture.spoil("grants", ["status": 403])
    let reply = try fixture.app.call("account.forget", ["account": account])
    let living = reply["living"]?.arrayValue ?? []
    #expect(living.count == 1, "\(reply.text)")
    #expect(living.first?["token"] == "grant" && living.first?["why"] == "refused")
    #expect(try fixture.revocations > 0)
  }

  @Test("a grant whose provider does not answer is deleted in the background")
  func later() throws {
    let (account, _) = try signIn()
    try fixture.spoil("grants", ["reset": true], times: 1)
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["living"]?[0]?["token"] == "grant", "\(reply.text)")
    #expect(reply["retriedUntil"]?.stringValue != nil)
    try eventually("the grant is deleted") {
      try deletions().contains { $0["status"] == 204 }
    }
  }

  @Test("without the setting nothing is said about grants, and none is deleted")
  func unmanaged() throws {
    let flow = try fixture.app.startFlow()
    #expect(!flow.url.contains("grant_management_action"))
    try Person.signIn(at: flow.url)
    let account = try fixture.app.finished(flow)["result"]?["account"] ?? .null
    _ = try fixture.app.call("account.forget", ["account": account])
    #expect(try deletions().isEmpty)
  }

  @Test("a provider that creates no grants with names is refused before the page opens")
  func unsupported() throws {
    try fixture.set(["discovery": ["grant_management_actions_supported": ["replace"]]])
    let flow = try fixture.app.startFlow("managed")
    let message = try fixture.app.finished(flow).failure["message"]?.stringValue ?? ""
    #expect(message.contains("grant_management") && message.contains("replace"))
  }

  @Test("a provider without the endpoint gets the revocation of the tokens alone")
  func noEndpoint() throws {
    try fixture.set(["discovery": ["grant_management_endpoint": nil]])
    let (account, _) = try signIn()
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done" && reply["living"] == nil, "\(reply.text)")
    #expect(try deletions().isEmpty)
  }
}
