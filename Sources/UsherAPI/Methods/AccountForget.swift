public import UsherCore

/// Revoke an account's tokens at the provider where it can be done, then wipe it.
public struct AccountForget: Method, Equatable {
  public static let name = "account.forget"
  public static let traits = MethodTraits(access: .app, audit: .everything, isConfirmable: true)
  public static let summary =
    "Revoke an account's tokens at the provider where it can be done, then wipe it."

  /// Nil where ``provider`` says it.
  public var account: AccountID?
  /// Instead of ``account``, where the caller has one account of it; several give `invalid_params`
  /// with field `account`.
  public var provider: ProviderName?
  /// Default true; false wipes without a word to the provider.
  public var revoke: Bool?

  public init(account: AccountID? = nil, provider: ProviderName? = nil, revoke: Bool? = nil) {
    self.account = account
    self.provider = provider
    self.revoke = revoke
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var account: AccountID
    /// What became of the refresh token; where there is none, of the access tokens.
    public var revoked: Revocation
    /// The tokens that may still be good at the provider; nil where there are none.
    public var living: [LivingToken]?
    /// Until when the provider is asked again in the background, also after a restart of the daemon;
    /// nil where it is not.
    public var retriedUntil: Timestamp?

    public init(
      account: AccountID, revoked: Revocation, living: [LivingToken]? = nil,
      retriedUntil: Timestamp? = nil
    ) {
      self.account = account
      self.revoked = revoked
      self.living = living
      self.retriedUntil = retriedUntil
    }
  }

  public enum Revocation: String, Codable, Sendable, CaseIterable {
    /// The provider took the tokens back.
    case done
    /// The provider has no revocation endpoint, or the caller did not want it.
    case skipped
    /// The provider has not revoked them so far; they are wiped here all the same. ``Reply/living`` says
    /// why, ``Reply/retriedUntil`` whether the provider is asked again.
    case failed
  }
}
