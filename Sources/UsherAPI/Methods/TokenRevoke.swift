public import UsherCore

/// Revoke an account's tokens at the provider and drop them; the account stays.
public struct TokenRevoke: Method, Equatable {
  public static let name = "token.revoke"
  public static let access = Access.app
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
    public var revoked: AccountForget.Revocation

    public init(account: AccountID, revoked: AccountForget.Revocation) {
      self.account = account
      self.revoked = revoked
    }
  }
}
