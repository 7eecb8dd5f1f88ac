import Crypto
import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Signed assertions of a client")
struct ClientAssertionTests {
  /// The form fields of a refresh that authenticates the client.
  private func fields(
    _ credential: String, _ change: (inout OIDCSettings) -> Void = { _ in },
    metadata change2: (inout OIDCMetadata) -> Void = { _ in }, attempt: Int = 0
  ) throws -> [String: String] {
    try fields(
      of: .refresh(Secret("r"), scope: nil, metadata(change2)), credential, change,
      attempt: attempt)
  }

  /// The form fields of a call that authenticates the client.
  private func fields(
    of call: OIDCCall, _ credential: String, _ change: (inout OIDCSettings) -> Void,
    attempt: Int = 0
  ) throws -> [String: String] {
    let provider = try provider {
      $0.clientCredential = "work-key"
      change(&$0)
    }
    let request = try call.render(
      RenderContext(
        provider: Provider(provider)!, credential: Secret(credential),
        clientAuthAttempt: attempt, transition: moment()))
    let pairs = try #require(FormEncoding.decode(request.body?.revealed() ?? ""))
    var fields = Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
    if let header = request.headers.first(where: { $0.name == "Authorization" }) {
      fields["Authorization"] = header.value.revealed()
    }
    return fields
  }

  private func parts(_ assertion: String) throws -> (header: JSONValue, claims: JSONValue) {
    let parts = assertion.split(separator: ".")
    try #require(parts.count == 3)
    return (
      try JSONValue(parsing: try #require(Base64URL.decode(parts[0]))),
      try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
    )
  }

  /// The signed text and the signature of an assertion.
  private func signed(_ assertion: String) throws -> (text: [UInt8], signature: [UInt8]) {
    let parts = assertion.split(separator: ".")
    return (
      Array((parts[0] + "." + parts[1]).utf8), try #require(Base64URL.decode(parts[2]))
    )
  }

  @Test("an assertion of an EC key names client, issuer and key, and the key has signed it")
  func ecKey() throws {
    let key = P256.Signing.PrivateKey()
    let fields = try fields(key.pemRepresentation)
    #expect(fields["client_id"] == "usher" && fields["client_secret"] == nil)
    #expect(
      fields["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    let assertion = try #require(fields["client_assertion"])
    let (header, claims) = try parts(assertion)
    let jwk = try #require(ClientKey(pem: Secret(key.pemRepresentation))).publicJWK
    #expect(header == ["alg": "ES256", "typ": "JWT", "kid": jwk["kid"] ?? .null])
    #expect(claims["iss"] == "usher" && claims["sub"] == "usher")
    #expect(claims["aud"]?.stringValue == issuer)
    let (issued, ends) = (claims["iat"]?.integerValue ?? 0, claims["exp"]?.integerValue ?? 0)
    #expect(ends - issued == 65 && issued == now.milliseconds / 1000 - 5)
    #expect(claims["jti"]?.stringValue?.count == 22)
    let (text, signature) = try signed(assertion)
    #expect(
      key.publicKey.isValidSignature(
        try P256.Signing.ECDSASignature(rawRepresentation: signature), for: text))
  }

  @Test("the key id is the thumbprint of RFC 7638, and the JWK has no private member")
  func publicJWK() throws {
    // The example of RFC 8037 appendix A.
    let seed = try #require(Base64URL.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"))
    // PKCS #8 (RFC 8410 §7) of an Ed25519 key.
    let der: [UInt8] =
      [
        0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04,
        0x20,
      ]
      + seed
    var base64 = Base64URL.encode(der).replacing("-", with: "+").replacing("_", with: "/")
    while base64.count % 4 != 0 { base64 += "=" }
    let pem = "-----BEGIN PRIVATE KEY-----\n\(base64)\n-----END PRIVATE KEY-----\n"
    let key = try #require(ClientKey(pem: Secret(pem)))
    #expect(
      key.publicJWK == [
        "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", "use": "sig", "alg": "EdDSA",
      ])
    let fields = try fields(pem)
    #expect(try parts(try #require(fields["client_assertion"])).header["alg"] == "EdDSA")
  }

  @Test("an RSA key signs with PS256 if the provider lists it, else with RS256")
  func rsaKey() throws {
    for (listed, algorithm) in [
      (nil, "RS256"), (["RS256", "ES256"], "RS256"), (["RS256", "PS256"], "PS256"),
    ] as [([String]?, String)] {
      let fields = try fields(
        PartnerKeys.good.revealed(), metadata: { $0.clientAuthAlgorithms = listed })
      let assertion = try #require(fields["client_assertion"])
      #expect(try parts(assertion).header["alg"]?.stringValue == algorithm)
      #expect(try signed(assertion).signature.count == 256)
    }
  }

  @Test("client_secret_jwt authenticates the assertion with the client secret, and never sends it")
  func clientSecret() throws {
    let secret = "a secret of the client, long enough for HS256"
    let fields = try fields(secret, { $0.clientAuth = .clientSecretJWT })
    #expect(!fields.values.contains { $0.contains("secret of the client") })
    let assertion = try #require(fields["client_assertion"])
    #expect(try parts(assertion).header == ["alg": "HS256", "typ": "JWT"])
    let (text, code) = try signed(assertion)
    #expect(
      HMAC<SHA256>.isValidAuthenticationCode(
        code, authenticating: text, using: SymmetricKey(data: Array(secret.utf8))))
  }

  @Test(
    "an assertion is for the token endpoint or the called endpoint if the operator says so",
    arguments: [
      (OIDCAssertionAudience.issuer, "", ""), (.tokenEndpoint, "/token", "/token"),
      (.endpoint, "/token", "/revoke"),
    ])
  func audience(of setting: OIDCAssertionAudience, token: String, revocation: String) throws {
    let key = P256.Signing.PrivateKey().pemRepresentation
    let calls: [(OIDCCall, audience: String)] = [
      (.refresh(Secret("r"), scope: nil, metadata()), token),
      (.revoke(.init(token: Secret("r"), kind: .refreshToken), metadata()), revocation),
    ]
    for (call, audience) in calls {
      let fields = try fields(of: call, key) { $0.assertionAudience = setting }
      let claims = try parts(try #require(fields["client_assertion"])).claims
      #expect(claims["aud"]?.stringValue == issuer + audience)
    }
  }

  @Test("a credential that is no usable key is refused with a sentence that shows nothing of it")
  func badKey() throws {
    let (settings, pem) = (
      { (settings: inout OIDCSettings) in settings.clientAuth = .privateKeyJWT },
      "-----BEGIN PRIVATE KEY-----\nnever shown\n-----END PRIVATE KEY-----"
    )
    for credential in [pem, "no PEM at all"] {
      let error = try #require(throws: UsherError.self) {
        _ = try fields(credential, settings)
      }
      #expect(error.message.hasPrefix("credential work-key is not a PEM text"))
      #expect(!error.message.contains("never shown") && !error.message.contains("at all"))
      let definition = try provider {
        $0.clientCredential = "work-key"
        settings(&$0)
      }.definition
      #expect(definition.flaw(of: Secret(credential), named: "work-key") == ClientKey.flaw)
    }
    let other = try provider { $0.clientCredential = "work-key" }.definition
    #expect(other.flaw(of: Secret("a client secret"), named: "work-key") == nil)
    #expect(other.flaw(of: Secret(pem), named: "work-key") == ClientKey.flaw)
  }

  @Test(
    "a private key is never sent as a client secret, whatever client_auth says",
    arguments: [OIDCClientAuth.basic, .post, .clientSecretJWT])
  func keyAsSecret(auth: OIDCClientAuth) throws {
    let key = P256.Signing.PrivateKey().pemRepresentation
    let error = try #require(throws: UsherError.self) {
      _ = try fields(key, { $0.clientAuth = auth })
    }
    #expect(error.message.hasPrefix("credential work-key is a private key"))
    let definition = try provider {
      $0.clientCredential = "work-key"
      $0.clientAuth = auth
    }.definition
    let flaw = try #require(definition.flaw(of: Secret(key), named: "work-key"))
    #expect(flaw.hasPrefix("is a private key"))
    #expect(definition.flaw(of: Secret("a client secret"), named: "work-key") == nil)
    let github = try oauth2Provider {
      $0.clientAuth = .auto
      $0.revocationRequest = .github
    }
    #expect(throws: UsherError.self) {
      try OIDCCall.revoke(.init(token: Secret("t"), kind: .accessToken), metadata()).render(
        RenderContext(
          provider: Provider<OIDCSettings>(github)!, credential: Secret(key), transition: moment()))
    }
  }

  @Test(
    "with auto, the methods that the metadata lists come first, and each refusal tries the next",
    arguments: [
      (nil, ["basic", "post", "basic"]), (["client_secret_post"], ["post", "basic", "post"]),
      (["client_secret_jwt"], ["jwt", "basic", "post"]),
      (["client_secret_jwt", "client_secret_post"], ["post", "jwt", "basic"]),
    ] as [([String]?, [String])])
  func order(listed: [String]?, expected: [String]) throws {
    let methods = try (0..<3).map { attempt in
      let fields = try fields(
        "secret", metadata: { $0.clientAuthMethods = listed }, attempt: attempt)
      if fields["Authorization"] != nil { return "basic" }
      return fields["client_secret"] != nil ? "post" : "jwt"
    }
    #expect(methods == expected)
  }
}
