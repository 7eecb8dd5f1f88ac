import JSONRPC
public import UsherCore

/// Deletes an account's tokens and revokes them at the provider. The account stays.
public struct TokenRevoke: Method, Equatable {
  public static let name = "token.revoke"
  public static let traits = MethodTraits(access: .app, audit: .everything, isConfirmable: true)
  public static let subject = Subject<Self>.oneAccount { ($0.account, $0.provider) }
  public static let summary =
    "Deletes an account's tokens and revokes them at the provider. The account stays."

  /// The account whose tokens are revoked; nil if ``provider`` identifies it.
  public var account: AccountID?
  /// The provider, as an alternative to ``account`` if the caller has only one account there. With
  /// several accounts the call fails with `invalid_params` and field `account`.
  public var provider: ProviderName?

  public init(account: AccountID? = nil, provider: ProviderName? = nil) {
    self.account = account
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var account: AccountID
    /// The outcome for the refresh token, or for the access tokens if there is no refresh token.
    public var revoked: AccountForget.Revocation
    /// The tokens that may still be valid at the provider; nil if there are none.
    public var living: [LivingToken]?
    /// The time until which the daemon retries the revocation in the background, even after a
    /// restart; nil if it does not retry.
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

extension TokenRevoke {
  public static let example = MethodExample(
    ["account": "acc_1"], returns: ["account": "acc_1", "revoked": "done"])

  public static let memberDescriptions: [String: String] = [
    "account": "The account; absent if `provider` identifies it.",
    "provider": """
    The provider, as an alternative to `account` if the caller has only one account there. \
    With several accounts the call fails with `invalid_params` and field `account`.
    """,
  ]
}

extension TokenRevoke.Reply: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "account": "The id of the account.",
    "revoked": """
    The outcome for the refresh token, or for the access tokens if there is no refresh token: \
    `done`, `skipped` (nothing to revoke or not supported) or `failed` (`living` gives the \
    reason).
    """,
    "living": "The tokens that may still be valid at the provider; absent if there are none.",
    "retriedUntil": """
    The time until which the daemon retries the revocation in the background, even after a \
    restart; absent if it does not retry.
    """,
  ]
}
