import JSONRPC
import Testing
import UsherConfig
import UsherTestKit

/// Every method of client authentication through usherctl and through the socket, at a provider
/// that accepts this method only. A new method without an entry here does not compile.
@Suite("Client authentication through usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct ClientAuthCommandTests {
  private static let secret = "s3cret:with/odd+chars"

  /// What an operator needs for a method.
  private enum Credential {
    case none, secret
    /// A key, or a certificate, that usherctl makes for a client of the sandbox.
    case made(clientID: String)
    case issuedCertificate
  }

  private func credential(_ method: OIDCClientAuth) -> Credential {
    switch method {
    case .none: .none
    case .auto, .basic, .post, .clientSecretJWT: .secret
    case .privateKeyJWT: .made(clientID: "usher-confidential")
    case .selfSignedTLSClientAuth: .made(clientID: "usher-self-signed")
    case .tlsClientAuth: .issuedCertificate
    }
  }

  /// The methods that the provider accepts, by the sandbox's names. Every assertion counts as
  /// `private_key_jwt`.
  private func accepted(_ method: OIDCClientAuth) -> JSONValue {
    switch method {
    // The first attempt is by Basic.
    case .auto, .post: ["client_secret_post"]
    case .basic: ["client_secret_basic"]
    case .clientSecretJWT, .privateKeyJWT: ["private_key_jwt"]
    case .tlsClientAuth, .selfSignedTLSClientAuth, .none: [.string(method.rawValue)]
    }
  }

  private func provider(
    _ method: OIDCClientAuth, at sandbox: SandboxUnderTest, _ trust: TrustedAuthority
  ) -> String {
    if method.usesCertificate {
      return trust.provider(method == .tlsClientAuth ? "issued" : "own", at: sandbox)
    }
    if case .none = credential(method) { return sandbox.provider("client") }
    return """
      [[provider]]
      name = "client"
      type = "oidc"
      issuer = "\(sandbox.issuer)"
      client_id = "usher-confidential"
      client_credential = "client-credential"
      client_auth = "\(method.rawValue)"

      """
  }

  /// Runs usherctl, which must succeed.
  ///
  /// - Returns: All that it prints.
  @discardableResult
  private func usherctl(
    _ fixture: OIDCFixture, _ arguments: [String], input: String = ""
  ) throws -> String {
    let (status, output, errors) = try fixture.daemon.usherctl(arguments, input: input)
    #expect(status == 0, "\(arguments): \(errors)")
    return output + errors
  }

  /// Sets or makes the client's credential with usherctl, and registers its public part.
  private func prepare(
    _ method: OIDCClientAuth, of name: String, _ fixture: OIDCFixture
  ) throws {
    switch credential(method) {
    case .none: break
    case .secret:
      try usherctl(fixture, ["credential", "set", "client-credential"], input: Self.secret)
    case .made(let clientID):
      let keys = try fixture.daemon.usherctl(["provider", "jwks", name, "--create"])
      #expect(keys.status == 0, "\(keys.errors)")
      let keySet = try JSONValue(parsing: Array(keys.output.utf8))
      try fixture.set(["clientKeys": .object([clientID: keySet])])
    case .issuedCertificate:
      let pem = try fixture.sandbox.control(
        "POST", "certificate", ["name": "usher-tls", "seconds": 86_400])["pem"]
      try usherctl(
        fixture, ["credential", "set", "\(name)-certificate"], input: pem?.stringValue ?? "")
    }
    try fixture.set(["clientAuthMethods": accepted(method)])
  }

  @Test(
    "a client authenticates itself by each method, from usherctl login to the revocation",
    arguments: OIDCClientAuth.allCases)
  func command(method: OIDCClientAuth) throws {
    let trust = try TrustedAuthority()
    // The file that ca_file names ends with it.
    defer { withExtendedLifetime(trust) {} }
    let fixture = try OIDCFixture { provider(method, at: $0, trust) }
    let name = method.usesCertificate ? (method == .tlsClientAuth ? "issued" : "own") : "client"
    try prepare(method, of: name, fixture)

    let login = try fixture.daemon.startUsherctl(["login", name, "--no-browser"])
    try Person.signIn(at: login.printed("the page's URL", /http:\S+/))
    #expect(try login.exitStatus() == 0, "\(login.log)")
    let first = try usherctl(fixture, ["token", "get", name])
    #expect(first.hasPrefix("at_"))
    #expect(try usherctl(fixture, ["token", "get", name, "--force-refresh"]) != first)
    let forgotten = try usherctl(fixture, ["account", "forget", name])
    #expect(forgotten.contains("tokens revoked at the provider"), "\(forgotten)")

    // The same through the socket.
    let account = try fixture.app.signIn(name)["result"]?["account"] ?? .null
    let token = try fixture.token(["account": account])
    let next = try fixture.token(["account": account, "forceRefresh": true])
    #expect(next["accessToken"] != token["accessToken"])
    #expect(try fixture.app.call("account.forget", ["account": account])["revoked"] == "done")
    #expect(!fixture.daemon.log.contains(Self.secret))
  }
}
