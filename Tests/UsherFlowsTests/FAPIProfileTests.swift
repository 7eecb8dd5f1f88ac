import Crypto
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("FAPI 2.0 profiles")
struct FAPIProfileTests {
  /// Changes settings to those of a client that complies with FAPI 2.0.
  private static func comply(_ settings: inout OIDCSettings) {
    settings.profile = .fapi2
    settings.clientCredential = "work-key"
    settings.clientAuth = .privateKeyJWT
    settings.dpop = true
  }

  private static func complyWithMessageSigning(_ settings: inout OIDCSettings) {
    comply(&settings)
    settings.profile = .fapi2MessageSigning
    settings.responseMode = .jwt
  }

  /// The metadata of a provider that complies with FAPI 2.0.
  private static func compliant(
    _ change: (inout OIDCMetadata) -> Void = { _ in }
  ) -> OIDCMetadata {
    metadata {
      $0.pushedAuthorizationRequestEndpoint = issuer + "/par"
      $0.clientAuthMethods = ["private_key_jwt", "tls_client_auth"]
      $0.clientAuthAlgorithms = ["PS256", "ES256"]
      $0.idTokenAlgorithms = ["PS256", "RS256"]
      $0.dpopAlgorithms = ["ES256"]
      change(&$0)
    }
  }

  private func driven(
    _ change: (inout OIDCSettings) -> Void = Self.comply
  ) throws -> DrivenAuthorize {
    try DrivenAuthorize(settings: change)
  }

  @Test("requests are pushed although the provider does not require it")
  func pushed() throws {
    var driven = try driven()
    driven.toBrowser(Self.compliant())
    #expect(driven.flow.view.state == "pushing")
    let accepted = reply(["request_uri": "urn:example:1", "expires_in": 60], status: 201)
    driven.receive(.called(try #require(driven.calls.first), .reply(accepted)))
    #expect(driven.query == ["client_id": "usher", "request_uri": "urn:example:1"])
    var other = try self.driven { _ in }
    other.toBrowser(Self.compliant())
    #expect(other.flow.view.state == "authorizing")
  }

  @Test("with message signing requests are signed although the provider does not require it")
  func signedRequests() throws {
    for (change, state) in [
      (Self.complyWithMessageSigning, "signing"), (Self.comply, "pushing"),
    ] {
      var driven = try driven(change)
      driven.toBrowser(Self.compliant())
      #expect(driven.flow.view.state == state)
    }
  }

  @Test("a client that is registered without authentication gets no token by its own assertion")
  func unauthenticatedAssertion() throws {
    let call = OIDCCall.jwtBearer(.init(subject: "ada", scope: ""), Self.compliant())
    let key = Secret(P256.Signing.PrivateKey().pemRepresentation)
    func request(_ profile: OIDCProfile) throws -> HTTPRequest {
      let config = try provider {
        Self.comply(&$0)
        $0.profile = profile
        ($0.clientAuth, $0.clientCredential) = (.none, nil)
        $0.jwtBearer.keyCredential = "robot-key"
      }
      return try call.rendered(at: config, credentials: ["robot-key": key])
    }
    #expect(try request(.none).body?.revealed().contains("assertion=") == true)
    #expect(throws: UsherError.self) { try request(.fapi2) }
  }

  /// Metadata, the settings with which a sign-in begins, and the member that ends it.
  private struct Case {
    var settings: (inout OIDCSettings) -> Void = FAPIProfileTests.comply
    var member: String?
    var change: (inout OIDCMetadata) -> Void = { _ in }
  }

  private static func complyByCertificate(_ settings: inout OIDCSettings) {
    comply(&settings)
    (settings.clientAuth, settings.dpop) = (.tlsClientAuth, false)
  }

  private static func registeredForSecret(_ settings: inout OIDCSettings) {
    comply(&settings)
    settings.clientAuth = .basic
  }

  private static var cases: [Case] {
    [
      Case(),
      Case(member: "pushed_authorization_request_endpoint") {
        $0.pushedAuthorizationRequestEndpoint = nil
      },
      Case(member: "token_endpoint_auth_methods_supported") {
        $0.clientAuthMethods = ["client_secret_basic"]
      },
      Case(member: "token_endpoint_auth_signing_alg_values_supported") {
        $0.clientAuthAlgorithms = ["RS256", "ES384"]
      },
      Case(member: "id_token_signing_alg_values_supported") { $0.idTokenAlgorithms = ["RS256"] },
      Case(change: { $0.responseAlgorithms = ["RS256"] }),
      Case(
        settings: complyWithMessageSigning, member: "authorization_signing_alg_values_supported"
      ) { $0.responseAlgorithms = ["RS256"] },
      Case(
        settings: complyWithMessageSigning, member: "request_object_signing_alg_values_supported"
      ) { $0.requestObjectAlgorithms = ["RS256"] },
      Case(settings: complyByCertificate, member: "tls_client_certificate_bound_access_tokens"),
      Case(settings: complyByCertificate) { $0.bindsAccessTokensToCertificate = true },
      Case(settings: registeredForSecret, member: "client_secret_basic"),
    ]
  }

  @Test("metadata that cannot satisfy the profile ends the sign-in with the member and the rule")
  func metadataFlaws() throws {
    for test in Self.cases {
      let metadata = Self.compliant(test.change)
      var driven = try driven(test.settings)
      driven.receive(.discovered(.found(metadata)))
      guard let member = test.member else {
        #expect(driven.flow.view.state == "preparing")
        continue
      }
      let message = try #require(driven.failure?.message)
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(message.contains(member) && message.contains("profile fapi2"), "\(message)")
      // Without the profile the same metadata is accepted.
      driven = try self.driven {
        test.settings(&$0)
        $0.profile = .none
      }
      driven.receive(.discovered(.found(metadata)))
      #expect(driven.failure == nil, "\(member)")
    }
  }

  @Test("a redirect must name its issuer although the metadata does not promise it")
  func issuerOfRedirect() throws {
    for (iss, isAccepted) in [
      (nil, false), (issuer, true), ("https://evil.example", false),
    ] as [(String?, Bool)] {
      var driven = try driven()
      driven.toBrowser(Self.compliant())
      let accepted = reply(["request_uri": "urn:example:1", "expires_in": 60], status: 201)
      driven.receive(.called(try #require(driven.calls.first), .reply(accepted)))
      var answer = AuthorizationResponse(code: Secret("code-secret"))
      answer.iss = iss
      driven.receive(.redirected(answer))
      #expect((driven.failure == nil) == isAccepted)
      guard iss == nil else { continue }
      let message = driven.failure?.message ?? ""
      #expect(message.contains("does not say which issuer") && message.contains("profile fapi2"))
    }
  }

  @Test("an ID token may be signed only with an algorithm that profile and metadata permit")
  func algorithms() throws {
    let fapi = try settings(Self.comply)
    for (listed, accepted) in [
      (["RS256", "PS256", "ES384"], [.ps256]), (["RS256"], []), (nil, [.es256, .ps256, .edDSA]),
    ] as [([String]?, Set<SigningAlgorithm>)] {
      let metadata = metadata { $0.idTokenAlgorithms = listed }
      for kind in [SignedTokenKind.idToken, .userinfo] {
        #expect(TokenProtection(of: kind, metadata, fapi).algorithms == accepted)
      }
    }
    let protection = TokenProtection(of: .idToken, Self.compliant(), fapi)
    for (algorithm, words) in [
      ("RS256", "alg RS256 is not accepted: expected PS256; profile fapi2 does not permit that"),
      ("HS256", "profile fapi2 does not permit that"), ("none", "ES256, PS256, EdDSA"),
    ] {
      let token = signed(["alg": .string(algorithm)])
      guard case .refused(let message) = SigningKey(for: token, in: ["keys": []], protection)
      else {
        Issue.record("\(algorithm) is accepted")
        continue
      }
      #expect(message.contains(words), "\(message)")
    }
  }

  @Test("the flow device is refused, and backchannel needs a binding message")
  func otherFlows() throws {
    var moment = moment()
    let context = FlowContext<OIDCSettings>(
      provider: Provider(try provider(Self.comply))!, account: nil, requestID: "req-1")
    let refusal = try #require(throws: UsherError.self) {
      _ = try OIDCDevice.begin(.init(), context, at: &moment)
    }
    #expect(refusal.reason == .permissionDenied && refusal.message.contains("profile fapi2"))
    var params = OIDCBackchannel.Params(loginHint: "ada")
    let missing = try #require(throws: UsherError.self) {
      _ = try OIDCBackchannel.begin(params, context, at: &moment)
    }
    #expect(missing.message.contains("bindingMessage"))
    params.bindingMessage = "W4SCT"
    _ = try OIDCBackchannel.begin(params, context, at: &moment)
  }
}

@Suite("Keys and registrations with FAPI 2.0 profiles")
struct FAPIClientTests {
  private static let p256 = P256.Signing.PrivateKey().pemRepresentation
  private static let p384 = P384.Signing.PrivateKey().pemRepresentation
  private static let ed25519 = Secret(
    "-----BEGIN PRIVATE KEY-----\n"
      + "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
      + "-----END PRIVATE KEY-----")

  private func context(
    _ key: Secret, _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws -> RenderContext<OIDCSettings> {
    let config = try provider {
      $0.profile = .fapi2
      $0.clientCredential = "work-key"
      $0.clientAuth = .privateKeyJWT
      $0.dpop = true
      change(&$0)
    }
    return RenderContext(
      provider: try #require(Provider(config)), credential: key,
      credentials: ["robot-key": key], transition: moment())
  }

  private func header(_ token: String) throws -> JSONValue {
    let first = try #require(token.split(separator: ".").first)
    return try JSONValue(parsing: try #require(Base64URL.decode(first)))
  }

  private func field(_ name: String, _ request: HTTPRequest) throws -> String? {
    let pairs = try #require(FormEncoding.decode(request.body?.revealed() ?? ""))
    return pairs.first { $0.name == name }?.value
  }

  @Test("an RSA key signs with PS256 whatever the provider lists", arguments: [nil, ["RS256"], []])
  func rsa(listed: [String]?) throws {
    let context = try context(PartnerKeys.good) { $0.jwtBearer.keyCredential = "robot-key" }
    let metadata = metadata { $0.clientAuthAlgorithms = listed }
    let refresh = try OIDCCall.refresh(Secret("r"), scope: nil, metadata).render(context)
    let assertion = try #require(try field("client_assertion", refresh))
    #expect(try header(assertion)["alg"] == "PS256")
    let grant = try OIDCCall.jwtBearer(.init(subject: "usher", scope: ""), metadata)
      .render(context)
    #expect(try header(try #require(try field("assertion", grant)))["alg"] == "PS256")
    let object = RequestObject(
      parameters: [:], audience: issuer, lifetime: .seconds(60), algorithms: listed)
    #expect(try header(try object.signed(context).revealed())["alg"] == "PS256")
  }

  @Test("an EC key on P-384 signs nothing, and provider check says what to set")
  func p384() throws {
    let key = Secret(Self.p384)
    let context = try context(key)
    let object = RequestObject(parameters: [:], audience: issuer, lifetime: .seconds(60))
    let attempts: [() throws -> Void] = [
      { _ = try OIDCCall.refresh(Secret("r"), scope: nil, metadata()).render(context) },
      { _ = try object.signed(context) },
    ]
    for attempt in attempts {
      let error = try #require(throws: UsherError.self) { try attempt() }
      #expect(error.message.hasPrefix("credential work-key signs with ES384; profile fapi2"))
      #expect(error.message.contains("P-256"))
    }
    let definition = context.provider.config.definition
    #expect(definition.flaw(of: key, named: "work-key")?.contains("ES384") == true)
    for usable in [Secret(Self.p256), PartnerKeys.good, Self.ed25519] {
      #expect(definition.flaw(of: usable, named: "work-key") == nil)
    }
  }

  @Test("a client that is registered for a secret sends nothing")
  func registeredForSecret() throws {
    for auth in [OIDCClientAuth.basic, .post, .clientSecretJWT, .auto, .none] {
      let context = try context(Secret("a secret")) {
        $0.clientAuth = auth
        if auth == .none { $0.clientCredential = nil }
      }
      let error = try #require(throws: UsherError.self) {
        _ = try OIDCCall.refresh(Secret("r"), scope: nil, metadata()).render(context)
      }
      #expect(error.message.contains("provider register work --update"))
      #expect(!error.message.contains("a secret"))
    }
  }

  @Test("a registration asks for the algorithms of the profile, and for bound tokens")
  func registration() throws {
    let context = try context(PartnerKeys.good) {
      $0.clientID = ""
      $0.profile = .fapi2MessageSigning
      $0.responseMode = .jwt
    }
    let metadata = metadata {
      $0.clientAuthMethods = ["private_key_jwt", "client_secret_basic"]
      $0.idTokenAlgorithms = ["RS256", "PS256"]
      $0.responseAlgorithms = ["RS256", "PS256", "ES256"]
    }
    let key = try #require(ClientKey(pem: PartnerKeys.good))
    let request = try ClientMetadata(context.provider, metadata, key: key)
    for (name, value) in [
      "id_token_signed_response_alg": "PS256", "authorization_signed_response_alg": "ES256",
      "token_endpoint_auth_signing_alg": "PS256", "request_object_signing_alg": "PS256",
      "dpop_bound_access_tokens": true, "require_pushed_authorization_requests": true,
      "grant_types": ["authorization_code", "refresh_token"],
    ] as [String: JSONValue] {
      #expect(request.members[name] == value, "\(name)")
    }
    let answer = reply(
      [
        "client_id": "c1", "client_secret": "s1",
        "token_endpoint_auth_method": "client_secret_basic",
      ], status: 201)
    let read = RegistrationReply(
      .reply(answer), to: request, at: issuer + "/register", of: context.provider)
    guard case .unreadable(let message) = read else {
      Issue.record("a client with a secret is accepted")
      return
    }
    #expect(message.contains("client_secret_basic"))
  }

  @Test("without a profile a registration names an algorithm only where RS256 is not offered")
  func registrationWithoutProfile() throws {
    for (listed, expected) in [
      (nil, nil), (["RS256", "ES256"], nil), (["PS256", "ES384"], "PS256"), (["ES384"], "ES384"),
      (["HS256"], nil),
    ] as [([String]?, String?)] {
      let config = try provider { $0.clientID = "" }
      let request = try ClientMetadata(
        try #require(Provider(config)), metadata { $0.idTokenAlgorithms = listed }, key: nil)
      let name = request.members["id_token_signed_response_alg"]?.stringValue
      #expect(name == expected, "\(String(describing: listed))")
      #expect(request.members["dpop_bound_access_tokens"] == nil)
      #expect(request.members["require_pushed_authorization_requests"] == nil)
    }
  }
}
