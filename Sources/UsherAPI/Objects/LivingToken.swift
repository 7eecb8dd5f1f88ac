public import UsherCore

/// A token that the daemon has deleted and that may still be valid at its provider.
public struct LivingToken: Codable, Sendable, Equatable {
  /// The kind of the token, by the names of RFC 7009 §2.1.
  public var token: Kind
  /// The OAuth scope of the token; empty if the provider did not report it.
  public var scope: String
  /// The expiry of the token; absent if the provider did not report it.
  public var expiresAt: Timestamp?
  /// Why the token was not revoked: `not_asked` by the caller, `unsupported` by the provider,
  /// `refused` by the provider, `unreachable` (the provider), or `not_configured` (the provider is
  /// not in the configuration any more).
  public var why: Reason

  public init(token: Kind, scope: String, expiresAt: Timestamp?, why: Reason) {
    self.token = token
    self.scope = scope
    self.expiresAt = expiresAt
    self.why = why
  }

  /// The kind of a token, by the names of RFC 7009 §2.1; or a grant, which the provider has named
  /// (Grant Management for OAuth 2.0).
  public enum Kind: String, Codable, Sendable, Equatable, CaseIterable {
    case refreshToken = "refresh_token"
    case accessToken = "access_token"
    case grant
  }

  /// Why a deleted token was not revoked at its provider.
  public enum Reason: String, Codable, Sendable, Equatable, CaseIterable {
    /// The caller did not request the revocation.
    case notAsked = "not_asked"
    /// The provider does not support the revocation of tokens of this kind.
    case unsupported
    /// The provider refused the revocation.
    case refused
    /// The provider cannot be reached, or answers with 429 or 5xx (RFC 7009 §2.2.1).
    case unreachable
    /// The provider is not in the configuration any more, or its name now refers to another server.
    case notConfigured = "not_configured"
  }
}

extension LivingToken: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "LivingToken", "A token that was deleted here and may still be valid at its provider.")
}
