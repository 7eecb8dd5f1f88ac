import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Tokens of the client itself, without a person (RFC 6749 §4.4).
@Suite("Tokens for the client itself", .mayBlock, .timeLimit(.minutes(10)))
struct ClientCredentialsTests {
  private static let secret = "s3cret:with/odd+chars"

  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws {
    fixture = try OIDCFixture(clock, limits: "force_refresh_seconds = 1") { sandbox in
      """
      [[provider]]
      name = "machine"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_credential = "work-secret"
      client_credentials_grant = true
      audience_parameter = "resource"

      """
    }
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": "work-secret", "value": .string(Self.secret)])
  }

  private func begin(_ params: JSONValue = [:]) throws -> JSONValue {
    let flow = try fixture.app.startFlow("machine", "clientCredentials", params: params)
    return try fixture.app.finished(flow)
  }

  private func token(_ more: [String: JSONValue] = [:]) throws -> JSONValue {
    try fixture.token(.object(["provider": "machine"].merging(more) { $1 }))
  }

  private var requests: Int {
    get throws { try fixture.sandbox.requests("token", grantType: "client_credentials") }
  }

  @Test("a program gets a token without a person, and another one when the first has ended")
  func whole() throws {
    let end = try begin(["scope": "reports.read"])
    #expect(end["status"] == "succeeded")
    let account = try fixture.account(of: end)
    #expect(account["subject"] == "usher-confidential")
    #expect(account["attributes"]?["grant"] == "client_credentials")
    let first = try token()
    #expect(first["scope"] == "reports.read" && first["idToken"] == nil)
    #expect(try token() == first)
    #expect(try requests == 1)
    try clock.advance(by: 301)
    let second = try token()
    #expect(second["accessToken"] != first["accessToken"])
    #expect(try requests == 2)
    #expect(!fixture.daemon.log.contains(Self.secret))
  }

  @Test("a hundred simultaneous calls for a token that has ended cause one request")
  func hundred() throws {
    _ = try begin()
    try clock.advance(by: 301)
    let clients = try (0..<100).map { _ in try fixture.daemon.client() }
    for client in clients {
      try client.send(
        #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"provider":"machine"}}"#)
    }
    let tokens = try clients.map { try $0.receive()?["result"]?["accessToken"] }
    #expect(Set(tokens).count == 1 && tokens[0] != nil)
    #expect(try requests == 2)
  }

  @Test("the account has the same token after a restart, and can renew it then")
  func restarted() throws {
    _ = try begin()
    let before = try token()
    let fixture = try fixture.restarted()
    #expect(try fixture.token(["provider": "machine"]) == before)
    let renewed = try fixture.token(["provider": "machine", "forceRefresh": true])
    #expect(renewed["accessToken"] != before["accessToken"])
  }

  @Test("with keepAlive the daemon renews the token in the background")
  func keepAlive() throws {
    _ = try begin(["keepAlive": true])
    try eventually("the daemon renews the token", moving: clock) { try requests == 2 }
  }

  @Test("token.get gives a part of the scope, and a token for an audience")
  func parts() throws {
    _ = try begin(["scope": "a b"])
    #expect(try token(["scope": "a"])["scope"] == "a")
    let token = try token(["audience": "https://api.example.com"])
    let reply = try Web.post(
      "\(fixture.sandbox.issuer)/introspect",
      form: [
        "token": token["accessToken"]?.stringValue ?? "", "client_id": "usher-confidential",
        "client_secret": Self.secret,
      ])
    #expect(try JSONValue(parsing: reply.body)["aud"] == "https://api.example.com")
  }

  @Test("after a revocation the error names the flow that gets a token again, with its scope")
  func revoked() throws {
    _ = try begin(["scope": "a b"])
    let reply = try fixture.app.call("token.revoke", ["provider": "machine"])
    #expect(reply["revoked"] == "done")
    let error = try fixture.app.error(of: "token.get", ["provider": "machine"])
    let next = try #require(error.data["next"]?["params"])
    #expect(next["kind"] == "clientCredentials")
    #expect(try begin(next["params"] ?? [:])["status"] == "succeeded")
    #expect(try token()["scope"] == "a b")
    #expect(try fixture.accounts.count == 1)
  }

  @Test("a wrong client secret fails the flow and each call with the provider's error")
  func wrongSecret() throws {
    _ = try begin()
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": "work-secret", "value": "wrong"])
    let end = try begin()
    #expect(end["failure"]?["provider"]?["code"] == "invalid_client")
    try clock.advance(by: 301)
    let error = try fixture.app.error(of: "token.get", ["provider": "machine"])
    #expect(error.data["provider"]?["code"] == "invalid_client")
    #expect(!error.hasSecret)
  }

  @Test("a rule's scopes also limit the scope that a client's own token is requested with")
  func limited() throws {
    let fixture = try OIDCFixture(
      provider: "",
      limits: """
        [[client]]
        name = "till"
        match = { user = \(getuid()) }
        allow = ["*"]
        scopes = ["reports.read"]
        """)
    for (scope, reason) in [
      ("admin", "scope"), ("reports.read", "permission"), ("", "scope"),
    ] {
      let params: JSONValue = scope.isEmpty ? [:] : ["scope": .string(scope)]
      let error = try fixture.app.error(
        of: "flow.start", ["provider": "demo", "kind": "clientCredentials", "params": params])
      #expect(error.data["reason"] == "permission_denied")
      // With the permitted scope, only the provider's configuration forbids the flow.
      #expect((error.data["field"] == "scope") == (reason == "scope"), "\(scope): \(error)")
    }
  }

  @Test("what no sign-in of a client can bring is refused without a next flow")
  func endless() throws {
    _ = try begin()
    let error = try fixture.app.error(
      of: "token.get", ["provider": "machine", "field": "idToken"])
    #expect(error.data["reason"] == "invalid_params" && error.data["next"] == nil)
  }

  @Test("a provider that does not permit it refuses the flow")
  func notPermitted() throws {
    let error = try fixture.app.error(
      of: "flow.start", ["provider": "demo", "kind": "clientCredentials", "params": [:]])
    #expect(error.data["reason"] == "permission_denied")
  }

  @Test(
    "MCP module client_credentials by JWT: the client proves itself by its key, and only by that key"
  )
  func byJWT() throws {
    let fixture = try OIDCFixture { sandbox in
      """
      [[provider]]
      name = "machine"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_credential = "machine-key"
      client_auth = "private_key_jwt"
      client_credentials_grant = true

      """
    }
    let keys = try fixture.daemon.admin().call(
      "provider.jwks", ["provider": "machine", "create": true])
    for (registered, status) in [
      (["usher-confidential": keys], "succeeded"), ([:], "failed"),
    ] as [(JSONValue, JSONValue)] {
      try fixture.set(["clientAuthMethods": ["private_key_jwt"], "clientKeys": registered])
      let flow = try fixture.app.startFlow("machine", "clientCredentials")
      let end = try fixture.app.finished(flow)
      #expect(end["status"] == status, "\(end.text)")
      guard status == "failed" else { continue }
      #expect(end.failure["provider"]?["code"] == "invalid_client")
    }
  }

  @Test("usherctl gets a token for the client itself")
  func command() throws {
    let (status, output, errors) = try fixture.daemon.usherctl([
      "login", "machine", "--kind", "clientCredentials", "--scope", "reports.read",
    ])
    #expect(status == 0, "\(errors)")
    #expect(output.contains("signed in as client usher-confidential"))
    let token = try fixture.daemon.usherctl(["token", "get", "machine"])
    #expect(token.0 == 0 && token.1.hasPrefix("at_"))
  }
}
