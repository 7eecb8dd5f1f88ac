public import UsherCore

/// A token that was wiped here and may still be good at its provider.
public struct LivingToken: Codable, Sendable, Equatable {
  public var token: Kind
  /// What it gives access to; empty where the provider did not tell.
  public var scope: String
  /// When it expires by itself; nil where the provider did not tell.
  public var expiresAt: Timestamp?
  public var why: Reason

  public init(token: Kind, scope: String, expiresAt: Timestamp?, why: Reason) {
    self.token = token
    self.scope = scope
    self.expiresAt = expiresAt
    self.why = why
  }

  /// RFC 7009 §2.1.
  public enum Kind: String, Codable, Sendable, Equatable, CaseIterable {
    case refreshToken = "refresh_token"
    case accessToken = "access_token"
  }

  /// Why it was not revoked.
  public enum Reason: String, Codable, Sendable, Equatable, CaseIterable {
    /// The caller did not want it.
    case notAsked = "not_asked"
    /// The provider revokes no such tokens.
    case unsupported
    /// The provider refused.
    case refused
    /// The provider cannot be reached, or puts it off (429, 5xx: RFC 7009 §2.2.1).
    case unreachable
    /// The provider is not in the configuration any more, or its name means another one now.
    case notConfigured = "not_configured"
  }
}
