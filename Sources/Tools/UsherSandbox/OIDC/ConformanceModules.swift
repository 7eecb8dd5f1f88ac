/// A module of the OpenID Foundation's conformance suite for clients: what the provider does in it,
/// and what a client must do. The sandbox behaves as in the module once it is chosen by
/// `POST /_control/oidc/module`.
package struct ConformanceModule: Sendable {
  /// The name of the module in the suite.
  package let name: String
  /// When the provider behaves as the module says.
  package let phase: Phase
  /// The client that the module is about; nil: any client that does not authenticate itself.
  package let client: Client?
  package let outcome: Outcome
  /// The changes of the backend's settings.
  let settings: [String: JSON]
  /// Whether the provider signs with a new key, and whether it withdraws the old one.
  var rotation: Rotation?

  package enum Phase: String, Sendable {
    case signIn, refresh
    /// A sign-in for a protected resource, which begins with the resource's own metadata.
    case resource
    /// A sign-in or a grant for which the client needs settings of its own.
    case client
  }

  /// What a client must have and request.
  package enum Client: String, Sendable {
    /// The client `usher-confidential`, which authenticates itself by its secret (Basic).
    case secret
    /// The same client, whose ID tokens are signed with its secret (HS256).
    case mac
    /// The client `usher-tls`, which authenticates itself by a certificate.
    case certificate
    /// A client that demands tokens which are bound to a key (DPoP).
    case dpop
    /// A client that requests the response mode `form_post`.
    case formPost = "form_post"
    /// The client `usher-confidential`, as the FAPI 2.0 Security Profile demands: it authenticates
    /// itself by a key in the setting `clientKeys`, and demands tokens that are bound to a key.
    case fapi2
    /// The same client, which signs its requests and demands signed answers (FAPI 2.0 Message
    /// Signing).
    case fapi2MessageSigning = "fapi2_message_signing"
  }

  /// What a client must do.
  package enum Outcome: Sendable, Equatable {
    /// It accepts the provider's answers.
    case accepted
    /// It refuses an answer, and says why.
    ///
    /// - Parameters:
    ///   - fault: A word that names the fault, for the client's error.
    ///   - isByProvider: Whether the provider itself refuses the client's request.
    case refused(fault: String, isByProvider: Bool)
    /// It ignores an answer that is not the one to its request, and goes on waiting.
    case ignored
  }

  enum Rotation: Sendable {
    case keepingOld, withdrawingOld
  }

  init(
    _ name: String, _ settings: [String: JSON] = [:], during phase: Phase = .signIn,
    of client: Client? = nil, refusedBy fault: String? = nil, isByProvider: Bool = false,
    isIgnored: Bool = false, rotation: Rotation? = nil
  ) {
    self.name = name
    self.phase = phase
    self.client = client
    outcome =
      fault.map { .refused(fault: $0, isByProvider: isByProvider) }
      ?? (isIgnored ? .ignored : .accepted)
    self.settings = settings
    self.rotation = rotation
  }

  /// All modules.
  package static let all = openID + fapi2 + mcp

  /// Returns settings that change the claims of ID tokens.
  private static func claims(_ claims: [String: JSON]) -> [String: JSON] {
    ["idToken": ["claims": .object(claims)]]
  }

  /// The modules about OpenID Connect in the order of the suite: the basic plan, further modules of
  /// the full plan, the modules about refreshed ID tokens, and those about the provider's
  /// configuration.
  private static let openID: [ConformanceModule] = [
    .init("OIDCCClientTest"),
    .init(
      "InvalidIssuerInIdToken", claims(["iss": "https://another.example"]), refusedBy: "iss"),
    .init("MissingSub", claims(["sub": .null]), refusedBy: "sub"),
    .init("InvalidAud", claims(["aud": "another-client"]), refusedBy: "aud"),
    .init("MissingIat", claims(["iat": .null]), refusedBy: "iat"),
    .init("KidAbsentSingleJwks", ["idToken": ["header": ["kid": .null]]]),
    .init(
      "KidAbsentMultipleMatchingKeys", ["idToken": ["header": ["kid": .null]]],
      refusedBy: "more than one key", rotation: .keepingOld),
    .init("SignedUsingRS256", ["idToken": ["alg": "RS256"]]),
    .init("SigAlgNone", ["idToken": ["alg": "none"]], refusedBy: "alg"),
    .init("InvalidSignatureRS256", ["idToken": ["badSignature": true]], refusedBy: "signature"),
    .init("InvalidSubInUserinfo", ["userinfo": ["sub": "another-user"]], refusedBy: "sub"),
    .init("NonceInvalid", claims(["nonce": "another"]), refusedBy: "nonce"),
    .init("ScopeUserInfoClaims", ["userinfo": ["nickname": "from userinfo"]]),
    .init("ClientSecretBasic", ["clientAuthMethods": ["client_secret_basic"]], of: .secret),

    .init("MissingAud", claims(["aud": .null]), refusedBy: "aud"),
    .init("MissingAtHash", claims(["at_hash": .null])),
    .init("InvalidAtHash", claims(["at_hash": "AAAA"]), refusedBy: "at_hash"),
    .init("MissingCHash", claims(["c_hash": .null])),
    .init("InvalidCHash", claims(["c_hash": "AAAA"]), refusedBy: "c_hash"),
    .init("SignedUsingES256", ["idToken": ["alg": "ES256"]]),
    .init("SignedUsingHS256", ["idToken": ["alg": "HS256"]], of: .mac),
    .init(
      "AggregatedClaims",
      [
        "userinfo": [
          "_claim_names": ["address": "bank"], "_claim_sources": ["bank": ["JWT": "e30.e30.c2ln"]],
        ]
      ]),
    .init(
      "DistributedClaims",
      [
        "userinfo": [
          "_claim_names": ["address": "bank"],
          "_claim_sources": ["bank": ["endpoint": "https://bank.example/claims"]],
        ]
      ]),
    .init("FormPost", of: .formPost),
    .init(
      "FormPostError",
      ["authorizeResponse": ["code": .null, "error": "invalid_scope"]], of: .formPost,
      refusedBy: "invalid_scope", isByProvider: true),
    .init(
      "MtlsEndpointAliases", ["clientAuthMethods": ["tls_client_auth"]], of: .certificate),

    .init("RefreshToken", during: .refresh),
    .init(
      "RefreshTokenInvalidIssuer", claims(["iss": "https://another.example"]), during: .refresh,
      refusedBy: "iss"),
    .init("RefreshTokenInvalidSub", claims(["sub": "another"]), during: .refresh, refusedBy: "sub"),
    .init(
      "RefreshTokenInvalidAud", claims(["aud": "another-client"]), during: .refresh,
      refusedBy: "aud"),
    .init(
      "RefreshTokenInvalidAzp", claims(["azp": "another-client"]), during: .refresh,
      refusedBy: "azp"),

    .init(
      "DiscoveryIssuerMismatch", ["discovery": ["issuer": "https://another.example"]],
      refusedBy: "issuer"),
    .init("DiscoveryJwks"),
    .init("auth/dpop", ["requireDPoP": true], of: .dpop),
    .init(
      "auth/dpop-nonce", ["requireDPoP": true, "dpopNonce": "nonce-of-the-server"], of: .dpop),
    .init(
      "auth/dpop without ES256", ["discovery": ["dpop_signing_alg_values_supported": ["RS256"]]],
      of: .dpop, refusedBy: "ES256"),
    .init("SigningKeyRotation", rotation: .withdrawingOld),
    .init(
      "SigningKeyRotationJustBeforeSigningNative", ["rotateKeysBeforeSigning": true]),
    .init("SigningKeyRotationJustBeforeSigning", during: .refresh, rotation: .withdrawingOld),
  ]
}

extension OIDCBackend {
  /// Lists the modules.
  func readModules(_ call: EndpointCall) async -> Reply {
    .json([
      "modules": .array(
        ConformanceModule.all.map { module in
          var members: [String: JSON] = [
            "name": .string(module.name), "phase": .string(module.phase.rawValue),
            "client": module.client.map { .string($0.rawValue) } ?? .null,
          ]
          switch module.outcome {
          case .accepted: members["outcome"] = "accepted"
          case .ignored: members["outcome"] = "ignored"
          case .refused(let fault, let isByProvider):
            members["outcome"] = "refused"
            members["fault"] = .string(fault)
            members["isByProvider"] = .bool(isByProvider)
          }
          return .object(members)
        })
    ])
  }

  /// Behaves as in a module from now on, such as `{"name": "SigAlgNone"}`. Other settings get their
  /// defaults, but the clients keep their keys.
  func chooseModule(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      guard let body = try? JSON(parsing: call.body), case .string(let name)? = body["name"],
        let module = ConformanceModule.all.first(where: { $0.name == name })
      else { throw OAuthError("invalid_request", "name must be the name of a module") }
      var defaults = OIDCBackendSettings()
      defaults.clientKeys = settings.clientKeys
      apply(try defaults.changed(by: module.settings))
      if let rotation = module.rotation {
        keys.rotate(removingOld: rotation == .withdrawingOld)
      }
      return .json(["name": .string(name)])
    }
  }
}
