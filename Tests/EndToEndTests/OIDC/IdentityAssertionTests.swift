import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Tokens for a person by an assertion of the identity provider of the organization
/// (draft-ietf-oauth-identity-assertion-authz-grant).
@Suite("Tokens by an assertion of another provider", .mayBlock, .timeLimit(.minutes(10)))
struct IdentityAssertionTests {
  private static let secret = "s3cret:with/odd+chars"

  private let fixture: OIDCFixture
  private let clock: MovableClock

  init() throws {
    let clock = MovableClock()
    self.clock = clock
    fixture = try Self.fixture(clock)
  }

  /// Returns a daemon with the identity provider `demo`, and the provider `app` that accepts its
  /// assertions: the sandbox is both, for different clients.
  private static func fixture(_ clock: MovableClock, limits: String = "") throws -> OIDCFixture {
    let fixture = try OIDCFixture(clock, limits: "force_refresh_seconds = 1\n" + limits) {
      sandbox in
      """
      [[provider]]
      name = "app"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_credential = "app-secret"
      audience_parameter = "resource"
      [provider.identity_assertion]
      provider = "demo"
      resource = "\(sandbox.base)/mcp"

      """
    }
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": "app-secret", "value": .string(secret)])
    try fixture.sandbox.control(
      "POST", "module", ["name": "auth/enterprise-managed-authorization"])
    try fixture.set([
      "identityAssertionClients": [fixture.sandbox.issuer: "usher-confidential"]
    ])
    return fixture
  }

  private func begin(_ params: JSONValue = [:]) throws -> JSONValue {
    try fixture.app.finished(fixture.app.startFlow("app", "identityAssertion", params: params))
  }

  private func requests(_ grant: String) throws -> Int {
    try fixture.sandbox.requests("token", grantType: "urn:ietf:params:oauth:grant-type:\(grant)")
  }

  private func introspect(_ token: JSONValue) throws -> JSONValue {
    try fixture.set(["clientAuthMethods": []])
    let reply = try Web.post(
      "\(fixture.sandbox.issuer)/introspect",
      form: [
        "token": token["accessToken"]?.stringValue ?? "", "client_id": "usher-confidential",
        "client_secret": Self.secret,
      ])
    return try JSONValue(parsing: reply.body)
  }

  @Test(
    "a person's tokens at one provider come from the ID token of another (auth/enterprise-managed-authorization)"
  )
  func whole() throws {
    try fixture.app.signIn()
    let end = try begin(["scope": "mcp:basic"])
    #expect(end["status"] == "succeeded", "\(end.text)")
    let account = try fixture.account(of: end)
    #expect(account["subject"] == "usr_alice" && account["provider"] == "app")
    #expect(account["attributes"]?["grant"] == "identity_assertion")
    let token = try fixture.token(["provider": "app"])
    #expect(token["scope"] == "mcp:basic")
    let resource = "\(fixture.sandbox.base)/mcp"
    let text = token["accessToken"]?.stringValue ?? ""
    #expect(
      try Web.send("GET", resource, headers: ["Authorization": "Bearer \(text)"]).status == 200)
    #expect(try requests("token-exchange") == 1 && requests("jwt-bearer") == 1)
    #expect(!fixture.daemon.log.contains("eyJ"))
    let known = try introspect(token)
    #expect(known["sub"] == "usr_alice" && known["client_id"] == "usher-confidential")
    #expect(known["aud"]?.stringValue == resource)
  }

  @Test(
    "tokens that have ended are got by another assertion, also for an audience and after a restart")
  func renewed() throws {
    try fixture.app.signIn()
    _ = try begin(["scope": "mcp:basic"])
    let first = try fixture.token(["provider": "app"])
    // The ID token has ended, too: the daemon refreshes it first.
    try clock.advance(by: 301)
    let second = try fixture.token(["provider": "app"])
    #expect(second["accessToken"] != first["accessToken"])
    #expect(try requests("token-exchange") == 2 && fixture.refreshes == 1)
    let api: JSONValue = "https://api.example.com"
    #expect(try introspect(fixture.token(["provider": "app", "audience": api]))["aud"] == api)
    let again = try fixture.restarted()
    let third = try again.token(["provider": "app", "forceRefresh": true])
    #expect(try introspect(third)["sub"] == "usr_alice")
  }

  @Test("without an account at the identity provider the error names the sign-in there")
  func noIdentity() throws {
    let params: JSONValue = ["provider": "app", "kind": "identityAssertion", "params": [:]]
    let error = try fixture.app.error(of: "flow.start", params)
    #expect(error.data["reason"] == "interaction_required", "\(error.text)")
    #expect(error.data["next"]?["params"]?["provider"] == "demo")
    #expect(try fixture.requests("token") == 0)
  }

  @Test("an account of another provider, and one that does not exist, are refused as identity")
  func otherAccount() throws {
    try fixture.app.signIn()
    let end = try begin()
    let own = end["result"]?["account"] ?? .null
    let requests = try requests("token-exchange")
    for (identity, reason) in [(own, "invalid_params"), ("acc_none", "not_found")] {
      let error = try fixture.app.error(
        of: "flow.start",
        ["provider": "app", "kind": "identityAssertion", "params": ["identity": identity]])
      #expect(error.data["reason"]?.stringValue == reason, "\(error.text)")
    }
    #expect(try self.requests("token-exchange") == requests)
  }

  @Test(
    "a client needs the right to the ID token of the account at the identity provider",
    arguments: [
      (#""flow.start *", "token.get *", "account.*""#, false),
      (#""flow.start *", "token.get *", "account.*", "token.get demo/idToken""#, true),
    ])
  func rights(allow: String, isAllowed: Bool) throws {
    let fixture = try Self.fixture(
      clock,
      limits: """
        [[client]]
        name = "till"
        match = { user = \(getuid()) }
        allow = [\(allow)]
        """)
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    let params: JSONValue = [
      "provider": "app", "kind": "identityAssertion", "params": ["identity": account],
    ]
    guard isAllowed else {
      let error = try fixture.app.error(of: "flow.start", params)
      #expect(error.data["reason"] == "permission_denied", "\(error.text)")
      #expect(error["message"]?.stringValue?.contains("token.get demo/idToken") == true)
      #expect(
        try fixture.sandbox.requests(
          "token", grantType: "urn:ietf:params:oauth:grant-type:token-exchange") == 0)
      return
    }
    let flow = try fixture.app.flow(in: fixture.app.call("flow.start", params))
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
  }

  @Test("provider.check names the identity provider")
  func check() throws {
    let reply = try fixture.daemon.admin().call("provider.check", ["provider": "app"])
    let finding = reply["findings"]?.arrayValue?.first { $0["subject"] == "identity provider" }
    #expect(finding?["fine"] == true)
    #expect(finding?["message"]?.stringValue?.contains("demo") == true)
  }

  @Test("after the account at the identity provider is forgotten there are no further tokens")
  func forgotten() throws {
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    _ = try begin()
    _ = try fixture.app.call("account.forget", ["account": account])
    try clock.advance(by: 301)
    let error = try fixture.app.error(of: "token.get", ["provider": "app"])
    #expect(error.data["reason"] == "reauthentication_required", "\(error.text)")
    #expect(try requests("token-exchange") == 1 && requests("jwt-bearer") == 1)
  }

  @Test("an identity provider that issues no assertion for the audience ends the flow")
  func refusedByIdentityProvider() throws {
    try fixture.app.signIn()
    try fixture.set(["identityAssertionClients": [:]])
    let end = try begin()
    #expect(end["status"] == "failed")
    #expect(
      end["failure"]?["message"]?.stringValue?.contains("invalid_target") == true, "\(end.text)")
    #expect(try requests("jwt-bearer") == 0)
  }

  @Test(
    "the provider refuses an assertion for another client, another provider, or that has ended",
    arguments: [
      ["client_id": "usher"], ["aud": "https://other.example"], ["exp": 1],
    ] as [JSONValue])
  func refusedByProvider(claims: JSONValue) throws {
    try fixture.app.signIn()
    try fixture.set(["identityAssertion": claims])
    let end = try begin()
    #expect(end["failure"]?["provider"]?["code"] == "invalid_grant", "\(end.text)")
    #expect(!end.hasSecret)
  }

  @Test(
    "an answer of the identity provider that is no assertion is refused",
    arguments: [
      ["access_token": "a", "token_type": "Bearer"],
      [
        "access_token": "a", "token_type": "N_A",
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
      ],
    ] as [JSONValue])
  func noAssertion(body: JSONValue) throws {
    try fixture.app.signIn()
    try fixture.sandbox.control(
      "POST", "faults",
      [
        "endpoint": "token", "grantType": "urn:ietf:params:oauth:grant-type:token-exchange",
        "fault": ["body": body],
      ])
    let end = try begin()
    #expect(end["status"] == "failed", "\(end.text)")
    #expect(try requests("jwt-bearer") == 0)
  }

  @Test("an ID token that the identity provider returns as the assertion goes to nobody else")
  func returnedIDToken() throws {
    try fixture.app.signIn()
    let token = try fixture.token(["provider": "demo", "field": "idToken"])["idToken"] ?? .null
    try fixture.sandbox.control(
      "POST", "faults",
      [
        "endpoint": "token", "grantType": "urn:ietf:params:oauth:grant-type:token-exchange",
        "fault": [
          "body": [
            "access_token": token, "token_type": "N_A",
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
          ]
        ],
      ])
    let end = try begin()
    #expect(end["status"] == "failed" && !end.hasSecret, "\(end.text)")
    #expect(try requests("jwt-bearer") == 0)
  }
}
