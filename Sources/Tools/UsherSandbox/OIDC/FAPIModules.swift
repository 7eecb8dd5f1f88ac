extension ConformanceModule {
  private static func profile(_ settings: [String: JSON]) -> [String: JSON] {
    ["fapi2": true, "dpopNonce": "nonce-of-the-server"].merging(settings) { $1 }
  }

  /// A module about the FAPI 2.0 Security Profile, whose name begins with
  /// `FAPI2SPFinalClientTest`.
  private static func security(
    _ name: String, _ settings: [String: JSON] = [:], refusedBy fault: String? = nil,
    isIgnored: Bool = false
  ) -> ConformanceModule {
    .init(
      "FAPI2SPFinalClientTest" + name, profile(settings), of: .fapi2, refusedBy: fault,
      isIgnored: isIgnored)
  }

  private static func idToken(
    _ name: String, _ claims: [String: JSON], refusedBy fault: String? = nil
  ) -> ConformanceModule {
    security(name, ["idToken": ["claims": .object(claims)]], refusedBy: fault)
  }

  /// A module about signed answers (JARM), whose name begins with
  /// `FAPI2SPFinalClientTestEnsureJarm`.
  private static func jarm(
    _ name: String, _ changes: [String: JSON], refusedBy fault: String
  ) -> ConformanceModule {
    .init(
      "FAPI2SPFinalClientTestEnsureJarm" + name,
      profile(["requireSignedRequests": true, "signedResponse": .object(changes)]),
      of: .fapi2MessageSigning, refusedBy: fault)
  }

  private static let otherIssuer: JSON = "https://another.example"
  private static let clientID: JSON = "usher-confidential"

  /// The modules of the plans `fapi2-security-profile-final-client-test-plan` and
  /// `fapi2-message-signing-final-client-test-plan`, by the names of their classes, in the order of
  /// the plans, but those about a resource server, about grants, and about one ecosystem's
  /// additions.
  static let fapi2: [ConformanceModule] = [
    security("HappyPath"),
    security(
      "DiscoveryIssuerMismatch", ["discovery": ["issuer": otherIssuer]], refusedBy: "issuer"),
    idToken("InvalidIss", ["iss": otherIssuer], refusedBy: "iss"),
    idToken("InvalidAud", ["aud": "another-client"], refusedBy: "aud"),
    idToken(
      "InvalidSecondaryAud", ["aud": [clientID, "another-client"], "azp": clientID],
      refusedBy: "aud names others"),
    security("InvalidNullAlg", ["idToken": ["alg": "none"]], refusedBy: "alg none"),
    security("InvalidAlternateAlg", ["idToken": ["alg": "RS256"]], refusedBy: "alg RS256"),
    idToken("InvalidExpiredExp", ["exp": 1], refusedBy: "exp"),
    idToken("InvalidMissingExp", ["exp": .null], refusedBy: "exp"),
    idToken("InvalidMissingAud", ["aud": .null], refusedBy: "aud"),
    idToken("InvalidMissingIss", ["iss": .null], refusedBy: "iss"),
    idToken("ValidAudAsArray", ["aud": [clientID]]),
    idToken("InvalidNonce", ["nonce": "another"], refusedBy: "nonce"),
    idToken("InvalidMissingNonce", ["nonce": .null], refusedBy: "nonce"),
    security(
      "InvalidAuthorizationResponseIss", ["authorizeResponse": ["iss": otherIssuer]],
      refusedBy: "another issuer"),
    security(
      "RemoveAuthorizationResponseIss", ["authorizeResponse": ["iss": .null]],
      refusedBy: "does not say which issuer"),
    security(
      "EnsureAuthorizationResponseWithInvalidStateFails",
      ["authorizeResponse": ["state": "another-state"]], isIgnored: true),
    security(
      "EnsureAuthorizationResponseWithInvalidMissingStateFails",
      ["authorizeResponse": ["state": .null]], isIgnored: true),
    security("TokenEndpointResponseWithoutExpiresIn", ["tokenReply": ["expires_in": .null]]),
    security("TokenTypeCaseInsenstivity", ["tokenReply": ["token_type": "dpOp"]]),
    security("HappyPathNoDpopNonce", ["dpopNonce": ""]),
    jarm("WithoutIssFails", ["claims": ["iss": .null]], refusedBy: "iss"),
    jarm("WithInvalidIssFails", ["claims": ["iss": otherIssuer]], refusedBy: "iss"),
    jarm("WithoutAudFails", ["claims": ["aud": .null]], refusedBy: "aud"),
    jarm("WithInvalidAudFails", ["claims": ["aud": "another-client"]], refusedBy: "aud"),
    jarm("WithoutExpFails", ["claims": ["exp": .null]], refusedBy: "exp"),
    jarm("WithExpiredExpFails", ["claims": ["exp": 1]], refusedBy: "exp"),
    jarm("WithInvalidSigFails", ["badSignature": true], refusedBy: "signature"),
    jarm("SignatureAlgIsNotNone", ["alg": "none"], refusedBy: "alg none"),
  ]
}
