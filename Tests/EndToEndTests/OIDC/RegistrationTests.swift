import JSONRPC
import Testing
import UsherTestKit

/// The daemon registers itself at a provider without `client_id` (RFC 7591, RFC 7592).
@Suite("Dynamic client registration", .mayBlock, .timeLimit(.minutes(10)))
struct RegistrationTests {
  private static let work: JSONValue = ["provider": "work"]

  let fixture: OIDCFixture
  let admin: RawClient
  private let clock = MovableClock()

  init() throws {
    fixture = try OIDCFixture(clock) { sandbox in
      [("work", ""), ("key", "client_credential = \"reg-key\"")].map { name, more in
        """
        [[provider]]
        name = "\(name)"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        \(more)

        """
      }.joined()
    }
    admin = try fixture.daemon.admin()
  }

  /// The clients that the provider has registered.
  private var clients: [JSONValue] {
    get throws {
      try fixture.sandbox.control("GET", "registrations")["clients"]?.arrayValue ?? []
    }
  }

  private func offer(_ methods: [JSONValue]) throws {
    try fixture.set([
      "clientAuthMethods": .array(methods),
      "discovery": ["token_endpoint_auth_methods_supported": .array(methods)],
    ])
  }

  /// Signs in, refreshes and revokes: three requests of the client.
  private func useClient(_ provider: String = "work") throws {
    let account = try fixture.app.signIn(provider)["result"]?["account"] ?? .null
    _ = try fixture.token(["account": account, "forceRefresh": true])
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done")
  }

  @Test("a provider without a client says how it gets one, before anybody signs in")
  func unregistered() throws {
    let flow = try fixture.app.startFlow("work")
    #expect(flow["status"] == "failed")
    let message = flow.failure["message"]?.stringValue ?? ""
    #expect(message.contains("usherctl provider register work"))
    let findings = try admin.call("provider.check", Self.work)["findings"]
    #expect(findings?.arrayValue?.contains { $0["fine"] == false } == true)
    #expect(try fixture.app.reason(of: "provider.register", Self.work) == "method_not_found")
    #expect(try fixture.app.reason(of: "provider.unregister", Self.work) == "method_not_found")
  }

  @Test("usherd registers itself, uses the client, and keeps it over a restart")
  func register() throws {
    let reply = try admin.call("provider.register", Self.work)
    #expect(reply["authMethod"] == "client_secret_basic" && reply["isManaged"] == true)
    #expect(reply["redirectURIs"] == ["http://127.0.0.1/callback"])
    #expect(reply["issuer"]?.stringValue == fixture.sandbox.issuer)
    let client = try #require(try clients.first)
    #expect(client["client_id"] == reply["clientID"])
    #expect(client["grant_types"]?.arrayValue?.contains("refresh_token") == true)
    #expect(client["scope"] == "openid profile offline_access")
    try useClient()
    let again = try fixture.restarted()
    try again.app.signIn("work")
    let second = try fixture.daemon.admin().error(of: "provider.register", Self.work)
    #expect(second.data["reason"] == "invalid_params")
    #expect(try clients.count == 1)
    let configured = try fixture.daemon.admin().error(
      of: "provider.register", ["provider": "demo"])
    #expect(configured["message"]?.stringValue?.contains("client_id") == true)
  }

  @Test(
    "the provider offers the client's method (auth/token-endpoint-auth-basic, -post and -none)",
    arguments: ["client_secret_basic", "client_secret_post", "none"])
  func method(name: String) throws {
    try offer([.string(name)])
    #expect(try admin.call("provider.register", Self.work)["authMethod"]?.stringValue == name)
    try useClient()
  }

  @Test("a provider that offers no usable method is told apart, and nothing is registered")
  func noMethod() throws {
    try offer(["tls_client_auth"])
    let error = try admin.error(of: "provider.register", Self.work)
    #expect(error.data["reason"] == "invalid_params")
    #expect(error["message"]?.stringValue?.contains("tls_client_auth") == true)
    #expect(try clients.isEmpty)
  }

  @Test("a client with a key registers the public part of it")
  func key() throws {
    try offer(["private_key_jwt"])
    let missing = try admin.error(of: "provider.register", ["provider": "key"])
    #expect(missing["message"]?.stringValue?.contains("provider jwks key --create") == true)
    let keys = try admin.call("provider.jwks", ["provider": "key", "create": true])
    let reply = try admin.call("provider.register", ["provider": "key"])
    #expect(reply["authMethod"] == "private_key_jwt")
    #expect(try clients.first?["jwks"] == keys)
    try useClient("key")
  }

  @Test(
    "an answer with which the daemon could not be the client is refused, and nothing is used",
    arguments: [
      (["client_id": nil], "client_id"), (["client_secret": nil], "client_secret"),
      (["redirect_uris": ["http://127.0.0.1/other"]], "redirect URI"),
      (["token_endpoint_auth_method": "tls_client_auth"], "tls_client_auth"),
      (["grant_types": ["client_credentials"]], "authorization_code"),
      (["client_secret_expires_at": "soon"], "client_secret_expires_at"),
      (["registration_client_uri": "https://evil.example/x"], "another server"),
      (["registration_access_token": 7], "registration_access_token"),
    ] as [(JSONValue, String)])
  func badAnswer(override: JSONValue, fault: String) throws {
    try fixture.set(["registrationReply": override])
    let error = try admin.error(of: "provider.register", Self.work)
    #expect(error.data["reason"] == "provider_protocol_error")
    #expect(error["message"]?.stringValue?.contains(fault) == true, "\(error.text)")
    #expect(!error.text.contains("cs_") && !error.text.contains("reg_"))
    #expect(try fixture.app.startFlow("work")["status"] == "failed")
  }

  @Test("a client secret that has expired says so, and an update gets another one")
  func expiry() throws {
    try fixture.set(["registrationSecretSeconds": 30])
    let reply = try admin.call("provider.register", Self.work)
    #expect(reply["secretExpiresAt"]?.stringValue != nil)
    try fixture.app.signIn("work")
    try clock.advance(by: 31)
    let flow = try fixture.app.startFlow("work")
    let message = flow.failure["message"]?.stringValue ?? ""
    #expect(message.contains("expired") && message.contains("--update"), "\(flow.text)")
    try fixture.set(["registrationSecretSeconds": 0])
    let before = try clients
    let updated = try admin.call("provider.register", ["provider": "work", "update": true])
    #expect(updated["clientID"] == reply["clientID"] && updated["secretExpiresAt"] == .null)
    #expect(try clients.first?["client_secret"] != before.first?["client_secret"])
    try fixture.app.signIn("work")
    // The token of the registration is another one now, and it is the one that is stored.
    _ = try admin.call("provider.register", ["provider": "work", "update": true])
  }

  /// Replaces the configuration by one in which the provider `work` has more settings.
  private func configure(_ more: String) throws {
    let text = """
      [[provider]]
      name = "work"
      type = "oidc"
      issuer = "\(fixture.sandbox.issuer)"
      \(more)

      """
    try fixture.daemon.place.write(fixture.sandbox.provider() + text, to: "usherd.toml")
    #expect(try admin.call("system.reload")["problems"] == [])
  }

  @Test("an update registers the method and the key that the configuration names by now")
  func changedMethod() throws {
    try offer(["client_secret_basic", "client_secret_post", "private_key_jwt"])
    _ = try admin.call("provider.jwks", ["provider": "key", "create": true])
    let first = try admin.call("provider.register", Self.work)
    #expect(first["authMethod"] == "client_secret_basic")
    let update: JSONValue = ["provider": "work", "update": true]
    try configure("client_auth = \"post\"")
    #expect(try admin.call("provider.register", update)["authMethod"] == "client_secret_post")
    try useClient()
    try configure("client_credential = \"reg-key\"")
    let last = try admin.call("provider.register", update)
    #expect(last["authMethod"] == "private_key_jwt" && last["clientID"] == first["clientID"])
    try useClient()
  }

  @Test("the client is deleted at the provider first, and kept if that fails")
  func delete() throws {
    let absent = try admin.error(of: "provider.unregister", Self.work)
    #expect(absent.data["reason"] == "not_found")
    _ = try admin.call("provider.register", Self.work)
    try fixture.spoil("registration", ["status": 503], times: 1)
    let error = try admin.error(of: "provider.unregister", Self.work)
    #expect(error.data["reason"] == "provider_unreachable")
    #expect(
      error["message"]?.stringValue?.contains("credential delete usherd.client.work") == true)
    try fixture.spoil("registration", ["status": 401], times: 1)
    let refused = try admin.error(of: "provider.unregister", Self.work)
    #expect(refused.data["reason"] == "provider_rejected")
    try fixture.app.signIn("work")
    _ = try admin.call("provider.unregister", Self.work)
    #expect(try clients.isEmpty)
    #expect(try fixture.app.startFlow("work")["status"] == "failed")
    // A client that the provider has forgotten is forgotten without asking it.
    _ = try admin.call("provider.register", Self.work)
    _ = try admin.call("credential.delete", ["name": "usherd.client.work"])
    #expect(try fixture.app.startFlow("work")["status"] == "failed")
    #expect(try clients.count == 1)
    _ = try admin.call("provider.register", Self.work)
    try useClient()
  }

  @Test("only a registration writes the credential of a registration")
  func reserved() throws {
    let error = try admin.error(
      of: "credential.set", ["name": "usherd.client.work", "value": "{}"])
    #expect(error.data["field"] == "name")
  }

  @Test(
    "usherctl registers with an initial access token from its standard input, and deletes",
    .ownProcess)
  func command() throws {
    let search = try CanarySearch(fixture.daemon)
    let initial = "initial-access-token-7f3a"
    try fixture.set(["registrationToken": .string(initial)])
    let refused = try admin.error(of: "provider.register", Self.work)
    #expect(refused.data["reason"] == "provider_rejected")
    #expect(refused["message"]?.stringValue?.contains("--initial-access-token") == true)
    let made = try fixture.daemon.usherctl(
      ["provider", "register", "work", "--initial-access-token"], input: initial + "\n")
    #expect(made.status == 0, "\(made.errors)")
    let client = try #require(try clients.first)
    #expect(made.output.contains(client["client_id"]?.stringValue ?? "none"))
    search.record(["output": .string(made.output + made.errors)])
    let secrets = ["client_secret", "registration_access_token"].compactMap {
      client[$0]?.stringValue
    }
    #expect(secrets.count == 2)
    try fixture.app.signIn("work")
    let updated = try fixture.daemon.usherctl(["provider", "register", "work", "--update"])
    #expect(updated.status == 0, "\(updated.errors)")
    search.record(["output": .string(updated.output + updated.errors)])
    let token = try clients.first?["registration_access_token"]?.stringValue ?? ""
    try search.recordLists()
    let deleted = try fixture.daemon.usherctl(["provider", "register", "work", "--delete"])
    #expect(deleted.status == 0, "\(deleted.errors)")
    #expect(try clients.isEmpty)
    try search.expectNone(
      of: secrets + [token, initial],
      found: [client["client_id"]?.stringValue ?? "none"])
  }
}

/// The daemon is killed between the provider's answer and its own commit.
@Suite(
  "A daemon that is killed while it registers itself", .mayBlock, .ownProcess,
  .timeLimit(.minutes(10)))
struct KilledRegistrationTests {
  private static let work: JSONValue = ["provider": "work"]

  private let fixture: OIDCFixture

  init() throws {
    fixture = try OIDCFixture { sandbox in
      """
      [[provider]]
      name = "work"
      type = "oidc"
      issuer = "\(sandbox.issuer)"

      """
    }
  }

  private var clients: [JSONValue] {
    get throws {
      try fixture.sandbox.control("GET", "registrations")["clients"]?.arrayValue ?? []
    }
  }

  /// Makes a call whose request the provider has processed when the daemon is killed, and returns
  /// the fixture after the restart.
  private func killed(
    during method: String, _ params: JSONValue, until isProcessed: ([JSONValue]) -> Bool
  ) throws -> OIDCFixture {
    try fixture.spoil("registration", ["processed": true, "held": true], times: 1)
    let call: JSONValue = [
      "jsonrpc": "2.0", "id": 1, "method": .string(method), "params": params,
    ]
    let admin = try fixture.daemon.admin()
    try admin.send(call.text)
    try eventually("the provider has processed the request") { try isProcessed(clients) }
    let again = try fixture.restarted()
    try fixture.mend()
    return again
  }

  @Test("the client that nobody knows stays at the provider, and the next run registers another")
  func registration() throws {
    let again = try killed(during: "provider.register", Self.work) { $0.count == 1 }
    #expect(try again.app.startFlow("work")["status"] == "failed")
    _ = try again.daemon.admin().call("provider.register", Self.work)
    #expect(try clients.count == 2)
    try again.app.signIn("work")
  }

  @Test("after a lost change the client is used as before, and the next change says what to do")
  func change() throws {
    _ = try fixture.daemon.admin().call("provider.register", Self.work)
    let token = try clients.first?["registration_access_token"]
    let again = try killed(during: "provider.register", ["provider": "work", "update": true]) {
      $0.first?["registration_access_token"] != token
    }
    try again.app.signIn("work")
    let admin = try again.daemon.admin()
    let error = try admin.error(of: "provider.register", ["provider": "work", "update": true])
    #expect(error.data["reason"] == "provider_rejected")
    let message = error["message"]?.stringValue ?? ""
    #expect(message.contains("credential delete usherd.client.work"), "\(message)")
    _ = try admin.call("credential.delete", ["name": "usherd.client.work"])
    _ = try admin.call("provider.register", Self.work)
    try again.app.signIn("work")
  }

  @Test("after a lost deletion the next one says how to forget the client")
  func deletion() throws {
    _ = try fixture.daemon.admin().call("provider.register", Self.work)
    let again = try killed(during: "provider.unregister", Self.work) { $0.isEmpty }
    let admin = try again.daemon.admin()
    let error = try admin.error(of: "provider.unregister", Self.work)
    #expect(error.data["reason"] == "provider_rejected")
    let message = error["message"]?.stringValue ?? ""
    #expect(message.contains("credential delete usherd.client.work"), "\(message)")
    _ = try admin.call("credential.delete", ["name": "usherd.client.work"])
    _ = try admin.call("provider.register", Self.work)
    try again.app.signIn("work")
  }
}
