import JSONRPC
import Testing
import UsherTestKit

@Suite("How the daemon authenticates itself as a client", .mayBlock, .timeLimit(.minutes(10)))
struct ClientAuthTests {
  private static let secret = "s3cret:with/odd+chars"

  let fixture: OIDCFixture
  let admin: RawClient

  /// Providers of one issuer, each with a method of its own.
  init() throws {
    fixture = try OIDCFixture(limits: "force_refresh_seconds = 1") { sandbox in
      [
        ("auto", "work-secret", ""), ("mac", "work-secret", "client_auth = \"client_secret_jwt\""),
        ("key", "work-key", "client_auth = \"private_key_jwt\""), ("found", "work-key", ""),
        (
          "old", "work-key",
          "client_auth = \"private_key_jwt\"\nclient_assertion_audience = \"token_endpoint\""
        ),
      ].map { name, credential, more in
        """
        [[provider]]
        name = "\(name)"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        client_id = "usher-confidential"
        client_credential = "\(credential)"
        \(more)

        """
      }.joined()
    }
    admin = try fixture.daemon.admin()
    _ = try admin.call(
      "credential.set", ["name": "work-secret", "value": .string(Self.secret)])
  }

  /// Signs in at a provider, refreshes and revokes: three authenticated requests.
  private func useAll(_ provider: String) throws {
    let account = try fixture.app.signIn(provider)["result"]?["account"] ?? .null
    let first = try fixture.token(["account": account])
    let second = try fixture.token(["account": account, "forceRefresh": true])
    #expect(second["accessToken"] != first["accessToken"])
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done")
  }

  private func register(_ key: JSONValue) throws {
    try fixture.set([
      "clientAuthMethods": ["private_key_jwt"], "clientKeys": ["usher-confidential": key],
    ])
  }

  @Test("a client signs in, refreshes and revokes with an assertion by its secret")
  func clientSecretJWT() throws {
    // The sandbox knows no key of the client, so only its secret can verify the assertion.
    try fixture.set(["clientAuthMethods": ["private_key_jwt"]])
    try useAll("mac")
    #expect(!fixture.daemon.log.contains(Self.secret))
  }

  @Test(
    "a client signs in, refreshes and revokes with the key that provider.jwks made",
    arguments: ["key", "found"])
  func privateKeyJWT(provider: String) throws {
    let key = try admin.call("provider.jwks", ["provider": .string(provider), "create": true])
    #expect(key["keys"]?[0]?["kty"] == "EC" && key["keys"]?[0]?["d"] == nil)
    try register(key)
    try useAll(provider)
    // The key is kept: it is the same after a restart, and is not made anew.
    try fixture.daemon.restart()
    let again = try fixture.daemon.admin().call(
      "provider.jwks", ["provider": .string(provider), "create": true])
    #expect(again == key)
    #expect(!fixture.daemon.log.contains("PRIVATE KEY"))
  }

  @Test("simultaneous calls that make the client's key all return the one key that is kept")
  func oneKey() throws {
    let admins = try (0..<8).map { _ in try fixture.daemon.admin() }
    for admin in admins {
      try admin.send(
        #"{"jsonrpc":"2.0","id":1,"method":"provider.jwks","#
          + #""params":{"provider":"key","create":true}}"#)
    }
    let keys = try admins.map { try $0.receive()?["result"]?["keys"] }
    #expect(Set(keys).count == 1 && keys[0]?[0]?["x"] != nil, "\(keys)")
    #expect(try admin.call("provider.jwks", ["provider": "key"])["keys"] == keys[0])
  }

  @Test("an assertion is for the token endpoint if the operator says so")
  func audience() throws {
    try register(try admin.call("provider.jwks", ["provider": "old", "create": true]))
    try fixture.set(["assertionsAreForEndpoint": true])
    try useAll("old")
    let refused = try fixture.refusedSignIn("key")
    #expect(refused["failure"]?["provider"]?["code"] == "invalid_client")
  }

  @Test("a provider that does not know the key refuses it, and the error says so")
  func unknownKey() throws {
    _ = try admin.call("provider.jwks", ["provider": "key", "create": true])
    try fixture.set(["clientAuthMethods": ["private_key_jwt"]])
    let refused = try fixture.refusedSignIn("key")
    #expect(refused["failure"]?["provider"]?["code"] == "invalid_client")
    #expect(!refused.hasSecret)
  }

  @Test(
    "client_auth auto tries the next method if the provider refuses the first, and remembers it")
  func nextMethod() throws {
    try fixture.set(["clientAuthMethods": ["client_secret_post"]])
    try fixture.forgetRequests()
    let account = try fixture.app.signIn("auto")["result"]?["account"] ?? .null
    #expect(try fixture.requests("token") == 2)
    _ = try fixture.token(["account": account, "forceRefresh": true])
    #expect(try fixture.requests("token") == 3)
    // A refusal by every method ends with the provider's answer, after two requests.
    try fixture.set(["clientAuthMethods": ["private_key_jwt"]])
    let refused = try fixture.refusedSignIn("auto")
    #expect(refused["failure"]?["provider"]?["code"] == "invalid_client")
    #expect(try fixture.requests("token") == 5)
  }

  @Test("while every method is refused, client_auth auto sends one request, not two")
  func everyMethodRefused() throws {
    try fixture.set(["clientAuthMethods": ["private_key_jwt"]])
    try fixture.forgetRequests()
    for count in [2, 3, 4] {
      _ = try fixture.refusedSignIn("auto")
      #expect(try fixture.requests("token") == count)
    }
    // Another secret may be accepted, by whichever method.
    _ = try admin.call(
      "credential.set", ["name": "work-secret", "value": .string(Self.secret)])
    try fixture.set(["clientAuthMethods": ["client_secret_post"]])
    try fixture.app.signIn("auto")
    #expect(try fixture.requests("token") == 6)
  }

  @Test(
    "the method that the token endpoint accepts is not taken for that of the revocation endpoint")
  func methodsOfEndpoints() throws {
    try fixture.set([
      "clientAuthMethods": ["client_secret_post"],
      "discovery": [
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "revocation_endpoint_auth_methods_supported": ["client_secret_post"],
      ],
    ])
    let account = try fixture.app.signIn("auto")["result"]?["account"] ?? .null
    #expect(try fixture.requests("token") == 2)
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done")
    #expect(try fixture.requests("revocation") == fixture.revocations)
    try fixture.app.signIn("auto")
    #expect(try fixture.requests("token") == 3)
  }

  @Test("provider.jwks says what is missing, and never replaces a credential")
  func missing() throws {
    let absent = try admin.error(of: "provider.jwks", ["provider": "key"])
    #expect(absent.data["reason"] == "not_found")
    #expect(absent["message"]?.stringValue?.contains("provider jwks key --create") == true)
    let secret = try admin.error(of: "provider.jwks", ["provider": "auto", "create": true])
    #expect(secret.data["field"] == "provider" && !secret.text.contains(Self.secret))
    // A key that is made for a client with a secret would be sent to the provider.
    _ = try admin.call("credential.delete", ["name": "work-secret"])
    let mac = try admin.error(of: "provider.jwks", ["provider": "mac", "create": true])
    #expect(mac["message"]?.stringValue?.contains("private_key_jwt") == true)
    #expect(
      try admin.error(of: "provider.jwks", ["provider": "auto"]).data["reason"] == "not_found")
    let open = try admin.error(of: "provider.jwks", ["provider": "demo"])
    #expect(open.data["field"] == "provider")
    #expect(try fixture.app.reason(of: "provider.jwks", ["provider": "key"]) == "method_not_found")
  }

  @Test("provider.check reports a credential that is no usable key; usherctl prints the key set")
  func operators() throws {
    _ = try admin.call("credential.set", ["name": "work-key", "value": "not a key"])
    let findings = try admin.call("provider.check", ["provider": "key"])["findings"]
    let bad = findings?.arrayValue?.first { $0["fine"] == false }
    #expect(bad?["subject"] == "credential")
    #expect(bad?["message"]?.stringValue?.hasPrefix("it is not a PEM text") == true)
    _ = try admin.call("credential.delete", ["name": "work-key"])
    let (status, output, errors) = try fixture.daemon.usherctl([
      "provider", "jwks", "key", "--create",
    ])
    #expect(status == 0, "\(errors)")
    let printed = try JSONValue(parsing: Array(output.utf8))
    #expect(printed == (try admin.call("provider.jwks", ["provider": "key"])))
  }
}

extension OIDCFixture {
  /// Signs in at the provider's page, and returns the flow, which must have failed.
  fileprivate func refusedSignIn(_ provider: String) throws -> JSONValue {
    let flow = try app.startFlow(provider)
    try Person.signIn(at: flow.url)
    let end = try app.finished(flow)
    #expect(end["status"] == "failed")
    return end
  }
}

@Suite("Pushed authorization requests", .mayBlock, .timeLimit(.minutes(10)))
struct PushedRequestTests {
  @Test(
    "a provider that requires pushed requests gets one from each kind of client",
    arguments: ["", "client_credential = \"work-secret\""])
  func required(credential: String) throws {
    let fixture = try OIDCFixture { sandbox in
      """
      [[provider]]
      name = "strict"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "\(credential.isEmpty ? "usher" : "usher-confidential")"
      \(credential)

      """
    }
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": "work-secret", "value": "s3cret:with/odd+chars"])
    try fixture.set(["requirePushedRequests": true])
    let flow = try fixture.app.startFlow("strict")
    #expect(flow.url.contains("request_uri=") && !flow.url.contains("code_challenge"))
    try Person.signIn(at: flow.url)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    #expect(try fixture.requests("par") == 1)
    #expect(try fixture.token(["provider": "strict"])["accessToken"] != nil)
  }
}
