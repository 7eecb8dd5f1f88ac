/// The settings of the OpenID provider that a test may change while it runs.
///
/// The last settings override members of a response: a value replaces a member, `null` removes it.
package struct OIDCBackendSettings: BackendSettings, Hashable {
  package var accessTokenSeconds = 300
  package var refreshTokenSeconds = 30 * 86_400
  package var idTokenSeconds = 300
  package var codeSeconds = 60
  package var deviceCodeSeconds = 600
  /// Seconds between polls (RFC 8628 §3.2); at 0 there is no `slow_down`.
  package var deviceInterval = 5
  package var refreshRotation = TokenTerms.Rotation.strict
  /// Whether `offline_access` grants a refresh token.
  package var refreshTokens = true
  /// Whether `access_type=offline` in the authorization request grants a refresh token in place of
  /// the scope `offline_access`, as at Google. Device sign-ins then always get one.
  package var refreshTokensNeedOfflineAccessType = false
  /// Whether a new refresh token is limited to the scope of the refresh that issued it.
  package var bindRefreshScope = false
  /// Whether a refresh returns a new ID token (OIDC Core §12.2).
  package var idTokenOnRefresh = true
  /// Whether the keys are replaced each time before an ID token is signed.
  package var rotateKeysBeforeSigning = false
  /// The methods by which clients may authenticate themselves, of OIDC Core §9; empty: all that the
  /// sandbox knows.
  package var clientAuthMethods: [String] = []
  /// The key sets (JWKS) of the clients and service accounts that sign assertions, by their ids.
  package var clientKeys: [String: JSON] = [:]
  /// The documents with the metadata of clients whose ids are https URLs, by these URLs.
  package var clientDocuments: [String: JSON] = [:]
  /// Whether tokens are bound to the certificate that a client presents (RFC 8705 §3).
  package var certificateBoundTokens = false
  /// The initial access token that a registration needs; empty: none (RFC 7591 §3).
  package var registrationToken = ""
  /// Seconds after which the secret of a client that has registered itself expires; 0: never.
  package var registrationSecretSeconds = 0
  /// The documents in which the metadata is published.
  package var discoveryDocuments = DiscoveryDocuments.both
  /// The scopes that a token for the protected resource must have, with spaces between them.
  package var resourceScope = ""
  /// Whether the challenge of the resource names the scopes, and whether it names the address of
  /// the metadata.
  package var challengeHasScope = true
  package var challengeNamesMetadata = true
  package var resourceMetadataPlace = ResourceMetadataPlace.path
  /// Whether only authorization requests that were pushed are accepted (RFC 9126 §5).
  package var requirePushedRequests = false
  /// Whether only authorization requests that the client has signed are accepted (RFC 9101 §10.5).
  package var requireSignedRequests = false
  /// Whether only requests for tokens with a DPoP proof are accepted. Without this, tokens are
  /// bound to a key if the request has a proof (RFC 9449).
  package var requireDPoP = false
  /// Whether the provider demands what the FAPI 2.0 Security Profile says, and refuses everything
  /// else.
  package var fapi2 = false
  /// The nonce that DPoP proofs must have; empty: none.
  package var dpopNonce = ""
  /// The subjects for which a service account gets tokens, in addition to itself (RFC 7523 §2.1).
  package var assertionSubjects: [String] = []
  /// The clients as which workloads of another issuer act, by the subjects of their tokens.
  package var workloads: [String: String] = [:]
  /// Whether the assertion of a service account has the scope as a claim, as at Google.
  package var assertionsHaveScope = false
  /// Whether an assertion must be for the token endpoint instead of the issuer.
  package var assertionsAreForEndpoint = false
  /// Whether only a session that an ID token names can be ended; otherwise the client id suffices.
  package var requireIDTokenHint = false
  /// The clients to which the provider, as the identity provider of an organization, lets its
  /// assertions be presented, by the audience of the assertions.
  package var identityAssertionClients: [String: String] = [:]
  /// Overrides for the claims of these assertions.
  package var identityAssertion: [String: JSON] = [:]
  /// The audiences for which an access token can be exchanged (RFC 8693); empty: any.
  package var exchangeAudiences: [String] = []
  /// Seconds by which the clock of the whole sandbox is ahead of the machine's.
  package var clockOffsetSeconds = 0.0
  package var idToken = IDTokenSettings()
  /// How signed authorization responses are signed (JARM). With `omit` they are not signed.
  package var signedResponse = IDTokenSettings()
  /// How userinfo answers are signed and encrypted. With `omit` they are JSON.
  package var userinfoToken = IDTokenSettings(omit: true)
  package var discovery: [String: JSON] = [:]
  package var tokenReply: [String: JSON] = [:]
  package var deviceReply: [String: JSON] = [:]
  package var backchannelReply: [String: JSON] = [:]
  package var userinfo: [String: JSON] = [:]
  package var registrationReply: [String: JSON] = [:]
  package var resourceMetadata: [String: JSON] = [:]
  /// Parameters of the redirect back to the client. Values must be strings.
  package var authorizeResponse: [String: JSON] = [:]

  /// What follows the issuer in the parameter `iss` of that redirect.
  package var responseIssuerSuffix = ""

  package init() {}

  var terms: TokenTerms {
    TokenTerms(
      accessTokenSeconds: accessTokenSeconds, refreshTokenSeconds: refreshTokenSeconds,
      codeSeconds: codeSeconds, rotation: refreshRotation,
      refreshTokens: refreshTokenRule, bindsRefreshScope: bindRefreshScope)
  }

  private var refreshTokenRule: TokenTerms.RefreshTokens {
    guard refreshTokens else { return .never }
    return refreshTokensNeedOfflineAccessType
      ? .withOfflineAccessType : .withScope("offline_access")
  }

  var deviceTerms: DeviceTerms {
    DeviceTerms(codeSeconds: deviceCodeSeconds, interval: deviceInterval)
  }

  package func validationError(for changes: [String: JSON]) -> String? {
    let spans = [
      accessTokenSeconds, refreshTokenSeconds, idTokenSeconds, codeSeconds, deviceCodeSeconds,
      deviceInterval, registrationSecretSeconds,
    ]
    if !spans.allSatisfy(Self.seconds.contains) {
      return "seconds must be 0 to \(Self.seconds.upperBound)"
    }
    if abs(clockOffsetSeconds) > Double(Self.seconds.upperBound) {
      return "clockOffsetSeconds must be at most \(Self.seconds.upperBound)"
    }
    return IDTokenSettings.unknownMember(of: changes, "idToken")
      ?? IDTokenSettings.unknownMember(of: changes, "userinfoToken")
      ?? IDTokenSettings.unknownMember(of: changes, "signedResponse")
  }
}

/// The documents in which a provider publishes its metadata.
package enum DiscoveryDocuments: String, Sendable, Hashable, Codable {
  case both
  /// That of OIDC Discovery §4 alone.
  case openid
  /// That of RFC 8414 §3 alone.
  case oauth
}

/// How ID tokens, userinfo answers or authorization responses are signed and encrypted, correctly
/// or not.
package struct IDTokenSettings: Sendable, Hashable, Codable {
  package enum Algorithm: String, Sendable, Codable {
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    /// HMAC with the client secret.
    case hs256 = "HS256"
    /// The token has no signature.
    case unsigned = "none"
    /// HMAC with the PEM of the RSA public key as its secret, for key confusion attacks.
    case publicKeyHMAC = "HS256-with-public-key"
  }

  package var alg: Algorithm?
  /// Replaces the key's own `kid`. To remove `kid`, set it to `null` in ``header``.
  package var kid: String?
  package var typ: String?
  /// Overrides for the header, such as `crit` or `kid: null`. They do not affect signing.
  package var header: [String: JSON]?
  /// Overrides for the claims.
  package var claims: [String: JSON]?
  /// Whether one character of the signature is replaced.
  package var badSignature: Bool?
  /// Whether responses omit the ID token.
  package var omit: Bool?
  /// How the signed token is encrypted, for the key of the client in `clientKeys`; nil: it is not.
  package var encryption: TokenEncryption?

  package init(omit: Bool? = nil) { self.omit = omit }

  private static let names: Set<String> = [
    "alg", "kid", "typ", "header", "claims", "badSignature", "omit", "encryption",
  ]

  /// Returns why a change of these settings is invalid, or nil if its members are known.
  static func unknownMember(of changes: [String: JSON], _ setting: String) -> String? {
    guard case .object(let members)? = changes[setting],
      let unknown = members.keys.sorted().first(where: { !names.contains($0) })
    else { return nil }
    return "there is no setting \(setting).\(unknown.printable)"
  }
}
