/// The tokens that a token endpoint issued (RFC 6749 §5.1), in a form that is stored sealed.
public struct TokenSet: Sendable, Equatable, Codable {
  public var accessToken: Sealed<Secret>
  /// The token type as the provider wrote it, such as `Bearer` or `bearer`. It is compared
  /// case-insensitively (RFC 6749 §7.1).
  public var tokenType: String
  /// The expiry of the access token; nil if the provider did not report one.
  public var expiresAt: Timestamp?
  /// The granted scope; the requested scope if the response has none (RFC 6749 §5.1).
  public var scope: String
  public var refreshToken: Sealed<Secret>?
  /// The expiry of the refresh token; nil if the provider did not report one.
  public var refreshExpiresAt: Timestamp?
  public var idToken: Sealed<Secret>?
  /// Further values of the response, which become attributes of the account; nil if there are none.
  public var attributes: [String: String]?
  /// The name of the grant (`grant_id`, Grant Management for OAuth 2.0 §5.3); nil if the provider
  /// gives none, or if it is not wanted.
  public var grantID: Sealed<Secret>?

  public init(
    accessToken: Sealed<Secret>, tokenType: String, expiresAt: Timestamp?, scope: String,
    refreshToken: Sealed<Secret>? = nil, refreshExpiresAt: Timestamp? = nil,
    idToken: Sealed<Secret>? = nil, attributes: [String: String]? = nil
  ) {
    self.accessToken = accessToken
    self.tokenType = tokenType
    self.expiresAt = expiresAt
    self.scope = scope
    self.refreshToken = refreshToken
    self.refreshExpiresAt = refreshExpiresAt
    self.idToken = idToken
    self.attributes = attributes
  }
}
