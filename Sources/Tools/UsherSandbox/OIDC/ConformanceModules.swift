/// A module of the OpenID Foundation's conformance suite for clients: what the provider does in it,
/// and what a client must do. The sandbox behaves as in the module once it is chosen by
/// `POST /_control/oidc/module`.
package struct ConformanceModule: Sendable {
  /// The name of the module in the suite.
  package let name: String
  /// When the provider behaves as the module says.
  package let phase: Phase
  /// Whether a client must accept the provider's answers.
  package let isAccepted: Bool
  /// A word that names the fault, for the client's error; empty without a fault.
  package let fault: String
  /// The changes of the backend's settings.
  let settings: [String: JSON]
  /// The response mode that the client must request; nil: any.
  var responseMode: ResponseMode?
  /// Whether the provider signs with a new key, and whether it withdraws the old one.
  var rotation: Rotation?

  package enum Phase: String, Sendable {
    case signIn, refresh
    /// A sign-in for a protected resource, which begins with the resource's own metadata.
    case resource
  }

  enum Rotation: Sendable {
    case keepingOld, withdrawingOld
  }

  init(
    _ name: String, _ settings: [String: JSON] = [:], during phase: Phase = .signIn,
    refusedBy fault: String = "", mode: ResponseMode? = nil, rotation: Rotation? = nil
  ) {
    self.name = name
    self.phase = phase
    self.isAccepted = fault.isEmpty
    self.fault = fault
    self.settings = settings
    self.responseMode = mode
    self.rotation = rotation
  }

  /// Returns settings that change the claims of ID tokens.
  private static func claims(_ claims: [String: JSON]) -> [String: JSON] {
    ["idToken": ["claims": .object(claims)]]
  }

  /// Returns settings that change how responses are signed (JARM).
  private static func response(_ settings: [String: JSON]) -> [String: JSON] {
    ["signedResponse": .object(settings)]
  }

  /// The modules in the order of the suite: the basic plan, further modules of the full plan, the
  /// modules about refreshed ID tokens, and those about the provider's configuration.
  package static let all: [ConformanceModule] = [
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
    .init("ClientSecretBasic", ["clientAuthMethods": ["client_secret_basic"]]),

    .init("MissingAud", claims(["aud": .null]), refusedBy: "aud"),
    .init("MissingAtHash", claims(["at_hash": .null])),
    .init("InvalidAtHash", claims(["at_hash": "AAAA"]), refusedBy: "at_hash"),
    .init("MissingCHash", claims(["c_hash": .null])),
    .init("InvalidCHash", claims(["c_hash": "AAAA"]), refusedBy: "c_hash"),
    .init("SignedUsingES256", ["idToken": ["alg": "ES256"]]),
    .init("SignedUsingHS256", ["idToken": ["alg": "HS256"]]),
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
    .init("FormPost", mode: .formPost),
    .init(
      "FormPostError",
      ["authorizeResponse": ["code": .null, "error": "invalid_scope"]], refusedBy: "invalid_scope",
      mode: .formPost),
    .init("JARM", mode: .jwt),
    .init(
      "JARMInvalidIssuer", response(["claims": ["iss": "https://another.example"]]),
      refusedBy: "iss", mode: .jwt),
    .init(
      "JARMInvalidAud", response(["claims": ["aud": "another-client"]]), refusedBy: "aud",
      mode: .jwt),
    .init("JARMExpired", response(["claims": ["exp": 1]]), refusedBy: "exp", mode: .jwt),
    .init(
      "JARMInvalidSignature", response(["badSignature": true]), refusedBy: "signature",
      mode: .jwt),
    .init("JARMSigAlgNone", response(["alg": "none"]), refusedBy: "alg", mode: .jwt),
    .init("JARMUnsigned", response(["omit": true]), refusedBy: "not signed", mode: .jwt),
    .init("MtlsEndpointAliases", ["clientAuthMethods": ["tls_client_auth"]]),

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
    .init("FAPI2HappyPath", ["requireDPoP": true, "dpopNonce": "nonce-of-the-server"]),
    .init("FAPI2NoDpopNonce", ["requireDPoP": true]),
    .init(
      "FAPI2InvalidTokenType", ["requireDPoP": true, "tokenReply": ["token_type": "Bearer"]],
      refusedBy: "token_type"),
    .init("MCPDPoP", ["requireDPoP": true, "dpopNonce": "nonce-of-the-server"]),
    .init(
      "MCPDPoPUnknownAlgorithm", ["discovery": ["dpop_signing_alg_values_supported": ["RS256"]]],
      refusedBy: "ES256"),
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
        (ConformanceModule.all + ConformanceModule.mcp).map { module in
          [
            "name": .string(module.name), "phase": .string(module.phase.rawValue),
            "isAccepted": .bool(module.isAccepted), "fault": .string(module.fault),
            "responseMode": module.responseMode.map { .string($0.rawValue) } ?? .null,
          ]
        })
    ])
  }

  /// Behaves as in a module from now on, such as `{"name": "SigAlgNone"}`. Other settings get their
  /// defaults.
  func chooseModule(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      guard let body = try? JSON(parsing: call.body), case .string(let name)? = body["name"],
        let module = (ConformanceModule.all + ConformanceModule.mcp).first(where: {
          $0.name == name
        })
      else { throw OAuthError("invalid_request", "name must be the name of a module") }
      apply(try OIDCBackendSettings().changed(by: module.settings))
      if let rotation = module.rotation {
        keys.rotate(removingOld: rotation == .withdrawingOld)
      }
      return .json(["name": .string(name)])
    }
  }
}
