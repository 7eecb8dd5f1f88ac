public import UsherCore

/// The reply of ``AccountForget`` and ``TokenRevoke``: what became of the account's tokens at the
/// provider.
public struct RevocationReply: Codable, Sendable, Equatable {
  /// The id of the account.
  public var account: AccountID
  /// The outcome for the refresh token, or for the access tokens if there is no refresh token:
  /// `done`, `skipped` (nothing to revoke, not supported or not wanted) or `failed` (`living` gives
  /// the reason).
  public var revoked: Outcome
  /// The tokens that may still be valid at the provider; absent if there are none.
  public var living: [LivingToken]?
  /// The time until which the daemon retries the revocation in the background, even after a
  /// restart; absent if it does not retry.
  public var retriedUntil: Timestamp?

  public init(
    account: AccountID, revoked: Outcome, living: [LivingToken]? = nil,
    retriedUntil: Timestamp? = nil
  ) {
    self.account = account
    self.revoked = revoked
    self.living = living
    self.retriedUntil = retriedUntil
  }

  /// The outcome of a revocation of an account's tokens at the provider (RFC 7009).
  public enum Outcome: String, Codable, Sendable, CaseIterable {
    /// The provider revoked the tokens.
    case done
    /// There was no token to revoke, the provider does not support revocation, or the caller did
    /// not request it.
    case skipped
    /// The provider has not revoked the tokens so far; the daemon has deleted them nevertheless.
    /// ``RevocationReply/living`` gives the reason, ``RevocationReply/retriedUntil`` whether the
    /// daemon retries.
    case failed
  }
}

extension RevocationReply: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Revocation", "What became of an account's tokens at the provider.")
}
