import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Tokens of service accounts, by assertions that the daemon signs (RFC 7523 §2.1).
@Suite("Tokens by a signed assertion", .mayBlock, .timeLimit(.minutes(10)))
struct JWTBearerTests {
  private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  private static let secret = "s3cret:with/odd+chars"

  let fixture: OIDCFixture
  private let clock = MovableClock()

  /// Three service accounts at one issuer: one without a client secret, one with it, and one as at
  /// Google.
  init() throws {
    fixture = try OIDCFixture(clock, limits: "force_refresh_seconds = 1") { sandbox in
      """
      [[provider]]
      name = "robot"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher"
      audience_parameter = "resource"
      [provider.jwt_bearer]
      key_credential = "robot-key"
      subjects = ["usr_alice"]

      [[provider]]
      name = "enterprise"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_credential = "work-secret"
      [provider.jwt_bearer]
      key_credential = "robot-key"

      [[provider]]
      name = "cloud"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher"
      [provider.jwt_bearer]
      key_credential = "robot-key"
      key_id = "key-1"
      issuer = "robot@project.example"
      audience = "\(sandbox.issuer)/token"
      scope_in_assertion = true

      """
    }
    let admin = try fixture.daemon.admin()
    _ = try admin.call("credential.set", ["name": "work-secret", "value": .string(Self.secret)])
    let keys = try admin.call("provider.jwks", ["provider": "robot", "create": true])
    guard case .object(var key)? = keys["keys"]?[0] else { throw TestError("no key: \(keys)") }
    key["kid"] = "key-1"
    try fixture.set([
      "clientKeys": [
        "usher": keys, "usher-confidential": keys,
        "robot@project.example": ["keys": [.object(key)]],
      ],
      "assertionSubjects": ["usr_alice", "usr_bob"],
    ])
  }

  private func begin(
    _ params: JSONValue = [:], at provider: String = "robot"
  ) throws -> JSONValue {
    try fixture.app.finished(fixture.app.startFlow(provider, "jwtBearer", params: params))
  }

  private func token(_ more: [String: JSONValue] = [:]) throws -> JSONValue {
    try fixture.token(.object(["provider": "robot"].merging(more) { $1 }))
  }

  private func introspect(_ token: JSONValue) throws -> JSONValue {
    let reply = try Web.post(
      "\(fixture.sandbox.issuer)/introspect",
      form: [
        "token": token["accessToken"]?.stringValue ?? "", "client_id": "usher-confidential",
        "client_secret": Self.secret,
      ])
    return try JSONValue(parsing: reply.body)
  }

  private var requests: Int {
    get throws { try fixture.sandbox.requests("token", grantType: Self.grantType) }
  }

  @Test("a service account gets a token without a person, and another one when the first has ended")
  func whole() throws {
    let end = try begin(["scope": "reports.read"])
    #expect(end["status"] == "succeeded", "\(end.text)")
    let account = try fixture.account(of: end)
    #expect(account["subject"] == "usher" && account["attributes"]?["grant"] == "jwt_bearer")
    let first = try token()
    #expect(first["scope"] == "reports.read" && first["idToken"] == nil)
    #expect(try token() == first)
    #expect(try requests == 1)
    try clock.advance(by: 301)
    let second = try token()
    #expect(second["accessToken"] != first["accessToken"])
    #expect(try introspect(second)["sub"] == "usher")
    #expect(try requests == 2)
    #expect(!fixture.daemon.log.contains("PRIVATE KEY") && !fixture.daemon.log.contains("eyJ"))
  }

  @Test("a service account gets tokens for a subject that the configuration permits")
  func subject() throws {
    let end = try begin(["subject": "usr_alice", "scope": "a b"])
    #expect(try fixture.account(of: end)["subject"] == "usr_alice")
    #expect(try introspect(token())["sub"] == "usr_alice")
    #expect(try token(["scope": "a"])["scope"] == "a")
    let audience = "https://api.example.com"
    #expect(
      try introspect(token(["audience": .string(audience)]))["aud"] == .string(audience))
  }

  @Test("a subject that the configuration does not permit is refused before the provider is asked")
  func notPermitted() throws {
    for (provider, params) in [
      ("robot", ["subject": "usr_bob"]), ("demo", [:]),
    ] as [(String, JSONValue)] {
      let error = try fixture.app.error(
        of: "flow.start",
        ["provider": .string(provider), "kind": "jwtBearer", "params": params])
      #expect(error.data["reason"] == "permission_denied")
    }
    #expect(try requests == 0)
  }

  @Test("a client with a secret authenticates itself beside the assertion")
  func enterprise() throws {
    let end = try begin(["scope": "reports.read"], at: "enterprise")
    #expect(end["status"] == "succeeded", "\(end.text)")
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": "work-secret", "value": "wrong"])
    let refused = try begin(at: "enterprise")
    #expect(refused["failure"]?["provider"]?["code"] == "invalid_client")
    #expect(!refused.hasSecret)
  }

  @Test("issuer, key id, audience and the scope as a claim are as the configuration says")
  func cloud() throws {
    try fixture.set(["assertionsAreForEndpoint": true, "assertionsHaveScope": true])
    let end = try begin(["scope": "reports.read"], at: "cloud")
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.account(of: end)["subject"] == "robot@project.example")
    #expect(try fixture.token(["provider": "cloud"])["scope"] == "reports.read")
    // The other service account is configured otherwise, which this provider refuses.
    #expect(try begin()["failure"]?["provider"]?["code"] == "invalid_grant")
  }

  @Test("a hundred simultaneous calls for a token that has ended cause one request")
  func hundred() throws {
    _ = try begin()
    try clock.advance(by: 301)
    let clients = try (0..<100).map { _ in try fixture.daemon.client() }
    for client in clients {
      try client.send(
        #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"provider":"robot"}}"#)
    }
    let tokens = try clients.map { try $0.receive()?["result"]?["accessToken"] }
    #expect(Set(tokens).count == 1 && tokens[0] != nil)
    #expect(try requests == 2)
  }

  @Test("the account has the same token after a restart, and can renew it then")
  func restarted() throws {
    _ = try begin(["subject": "usr_alice"])
    let before = try token()
    let fixture = try fixture.restarted()
    #expect(try fixture.token(["provider": "robot"]) == before)
    let renewed = try fixture.token(["provider": "robot", "forceRefresh": true])
    #expect(renewed["accessToken"] != before["accessToken"])
    #expect(try introspect(renewed)["sub"] == "usr_alice")
  }

  @Test(
    "while the provider does not know the key, the account gets no token, and next names the flow")
  func unknownKey() throws {
    _ = try begin(["subject": "usr_alice", "scope": "a b"])
    let keys = try fixture.daemon.admin().call("provider.jwks", ["provider": "robot"])
    try fixture.set(["clientKeys": [:]])
    try clock.advance(by: 301)
    let error = try fixture.app.error(of: "token.get", ["provider": "robot"])
    #expect(error.data["reason"] == "reauthentication_required")
    #expect(error.data["provider"]?["code"] == "invalid_grant" && !error.hasSecret)
    let next = try #require(error.data["next"]?["params"])
    #expect(next["kind"] == "jwtBearer")
    #expect(next["params"]?["subject"] == "usr_alice" && next["params"]?["scope"] == "a b")
    try fixture.set(["clientKeys": ["usher": keys]])
    try clock.advance(by: 2)
    #expect(try introspect(token())["sub"] == "usr_alice")
  }

  @Test("provider.check reports a key that is not set")
  func check() throws {
    let admin = try fixture.daemon.admin()
    let findings = try admin.call("provider.check", ["provider": "enterprise"])["findings"]
    let names = findings?.arrayValue?.map { $0["subject"]?.stringValue ?? "" } ?? []
    #expect(names.contains("credential") && names.contains("credential robot-key"))
    _ = try admin.call("credential.delete", ["name": "robot-key"])
    let missing = try admin.call("provider.check", ["provider": "robot"])["findings"]?.arrayValue
    #expect(missing?.contains { $0["fine"] == false } == true)
    let end = try begin()
    #expect(end["status"] == "failed")
  }

  @Test("usherctl gets a token of a service account")
  func command() throws {
    let (status, output, errors) = try fixture.daemon.usherctl([
      "login", "robot", "--kind", "jwtBearer", "--scope", "reports.read", "--param",
      "subject=usr_alice",
    ])
    #expect(status == 0, "\(errors)")
    #expect(output.contains("signed in as service account usr_alice"))
    let token = try fixture.daemon.usherctl(["token", "get", "robot"])
    #expect(token.0 == 0 && token.1.hasPrefix("at_"))
  }
}
