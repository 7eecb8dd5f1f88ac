public import UsherCore

/// Revoke an account's tokens at the provider and drop them; the account stays.
public struct TokenRevoke: Method, Equatable {
  public static let name = "token.revoke"
  public static let traits = MethodTraits(access: .app, audit: .everything, isConfirmable: true)
  public static let summary =
    "Revoke an account's tokens at the provider and drop them; the account stays."

  /// Nil where ``provider`` says it.
  public var account: AccountID?
  /// Instead of ``account``, where the caller has one account of it; several give `invalid_params`
  /// with field `account`.
  public var provider: ProviderName?

  public init(account: AccountID? = nil, provider: ProviderName? = nil) {
    self.account = account
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var account: AccountID
    /// What became of the refresh token; where there is none, of the access tokens.
    public var revoked: AccountForget.Revocation
    /// The tokens that may still be good at the provider; nil where there are none.
    public var living: [LivingToken]?
    /// Until when the provider is asked again in the background, also after a restart of the daemon;
    /// nil where it is not.
    public var retriedUntil: Timestamp?

    public init(
      account: AccountID, revoked: AccountForget.Revocation, living: [LivingToken]? = nil,
      retriedUntil: Timestamp? = nil
    ) {
      self.account = account
      self.revoked = revoked
      self.living = living
      self.retriedUntil = retriedUntil
    }
  }
}
