/// What a token endpoint granted (RFC 6749 §5.1), in a form that is stored sealed.
public struct TokenSet: Sendable, Equatable, Codable {
  public var accessToken: Sealed<Secret>
  /// As the provider wrote it, `Bearer` or `bearer`; compared case-insensitively (§7.1).
  public var tokenType: String
  /// Nil where the provider did not tell.
  public var expiresAt: Timestamp?
  /// The granted scope; the requested one where the reply named none (§5.1).
  public var scope: String
  public var refreshToken: Sealed<Secret>?
  /// When the refresh token is of no use any more; nil where the provider did not tell.
  public var refreshExpiresAt: Timestamp?
  public var idToken: Sealed<Secret>?
  /// What the provider tells of the grant beside its tokens: attributes of the account.
  public var attributes: [String: String]?

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
