/// What a test may change about the provider while it runs.
///
/// Overrides are laid over an answer just before it leaves: a value replaces a member, `null`
/// removes it.
package struct OIDCSettings: BackendSettings, Hashable {
  package var accessTokenSeconds = 300
  package var refreshTokenSeconds = 30 * 86_400
  package var idTokenSeconds = 300
  package var codeSeconds = 60
  package var deviceCodeSeconds = 600
  /// Seconds between polls (RFC 8628 §3.2); 0 never answers slow_down.
  package var deviceInterval = 5
  package var refreshRotation = TokenTerms.Rotation.strict
  /// Off: `offline_access` brings no refresh token.
  package var refreshTokens = true
  /// Whether a rotated refresh token is good only for the scope of the refresh that brought it.
  package var bindRefreshScope = false
  /// Whether a refresh brings a new ID token (OIDC Core §12.2).
  package var idTokenOnRefresh = true
  /// Seconds the sandbox's clock is ahead of the machine's.
  package var clockOffsetSeconds = 0.0
  package var idToken = IDTokenSettings()
  package var discovery: [String: JSON] = [:]
  package var tokenReply: [String: JSON] = [:]
  package var deviceReply: [String: JSON] = [:]
  package var userinfo: [String: JSON] = [:]
  /// The parameters of the redirect back to the client; values are strings.
  package var authorizeResponse: [String: JSON] = [:]

  package init() {}

  var terms: TokenTerms {
    TokenTerms(
      accessTokenSeconds: accessTokenSeconds, refreshTokenSeconds: refreshTokenSeconds,
      codeSeconds: codeSeconds, rotation: refreshRotation,
      refreshTokens: refreshTokens ? .withScope("offline_access") : .never,
      bindsRefreshScope: bindRefreshScope)
  }

  package func objection(to changes: [String: JSON]) -> String? {
    let spans = [
      accessTokenSeconds, refreshTokenSeconds, idTokenSeconds, codeSeconds, deviceCodeSeconds,
      deviceInterval,
    ]
    if !spans.allSatisfy(Self.seconds.contains) {
      return "seconds are 0 to \(Self.seconds.upperBound)"
    }
    if abs(clockOffsetSeconds) > Double(Self.seconds.upperBound) {
      return "clockOffsetSeconds is at most \(Self.seconds.upperBound)"
    }
    return IDTokenSettings.unknownMember(of: changes["idToken"])
  }
}

/// How an ID token is made, and made wrong.
package struct IDTokenSettings: Sendable, Hashable, Codable {
  package enum Algorithm: String, Sendable, Codable {
    case rs256 = "RS256"
    case es256 = "ES256"
    /// No signature at all.
    case unsigned = "none"
    /// HMAC with the RSA public key's PEM as its secret: key confusion.
    case publicKeyHMAC = "HS256-with-public-key"
  }

  package var alg: Algorithm?
  /// In place of the key's own; `null` in ``header`` removes it.
  package var kid: String?
  package var typ: String?
  /// Laid over the header: `crit`, `kid: null` and the like. It does not change how is signed.
  package var header: [String: JSON]?
  /// Laid over the claims.
  package var claims: [String: JSON]?
  /// One bit of the signature is turned.
  package var badSignature: Bool?
  /// No ID token in the answer.
  package var omit: Bool?

  package init() {}

  private static let names: Set<String> = [
    "alg", "kid", "typ", "header", "claims", "badSignature", "omit",
  ]

  /// Why a change of these settings cannot be, or nil.
  static func unknownMember(of change: JSON?) -> String? {
    guard case .object(let members)? = change,
      let unknown = members.keys.sorted().first(where: { !names.contains($0) })
    else { return nil }
    return "there is no setting idToken.\(unknown.printable)"
  }
}
