import JSONRPC
public import UsherCore

/// Deletes an account and revokes its tokens at the provider, if the provider supports revocation.
public struct AccountForget: Method, Equatable {
  public static let name = "account.forget"
  public static let traits = MethodTraits(access: .app, audit: .everything, isConfirmable: true)
  public static let subject = Subject<Self>.oneAccount { ($0.account, $0.provider) }
  public static let summary =
    "Deletes an account, and revokes its tokens at the provider where the provider supports that."

  /// The account to delete; nil if ``provider`` identifies it.
  public var account: AccountID?
  /// The provider, as an alternative to ``account`` if the caller has only one account there. With
  /// several accounts the call fails with `invalid_params` and field `account`.
  public var provider: ProviderName?
  /// Whether to revoke the tokens at the provider; default true. If false, they are only deleted at
  /// the daemon.
  public var revoke: Bool?

  public init(account: AccountID? = nil, provider: ProviderName? = nil, revoke: Bool? = nil) {
    self.account = account
    self.provider = provider
    self.revoke = revoke
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var account: AccountID
    /// The outcome of the revocation at the provider: of the refresh token, or of the access tokens
    /// if there is no refresh token.
    public var revoked: Revocation
    /// The tokens that may still be valid at the provider; nil if there are none.
    public var living: [LivingToken]?
    /// The time until which the daemon retries the revocation in the background, even after a
    /// restart; nil if it does not retry.
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

  /// The outcome of a revocation of an account's tokens at the provider (RFC 7009).
  public enum Revocation: String, Codable, Sendable, CaseIterable {
    /// The provider revoked the tokens.
    case done
    /// There was no token to revoke, the provider does not support revocation, or the caller did
    /// not request it.
    case skipped
    /// The provider has not revoked the tokens so far; the daemon has deleted them nevertheless.
    /// ``Reply/living`` gives the reason, ``Reply/retriedUntil`` whether the daemon retries.
    case failed
  }
}

extension AccountForget {
  public static let example = MethodExample(
    ["account": "acc_1"], returns: ["account": "acc_1", "revoked": "done"])

  public static let memberDescriptions: [String: String] = [
    "account": "The account; absent if `provider` identifies it.",
    "provider": """
    The provider, as an alternative to `account` if the caller has only one account there. \
    With several accounts the call fails with `invalid_params` and field `account`.
    """,
    "revoke": """
    Whether to revoke the tokens at the provider; default true. If false, they are only \
    deleted here.
    """,
  ]
}

extension AccountForget.Reply: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "account": "The id of the deleted account.",
    "revoked": """
    The outcome for the refresh token, or for the access tokens if there is no refresh token: \
    `done`, `skipped` (nothing to revoke, not supported or not wanted) or `failed` (`living` \
    gives the reason).
    """,
    "living": "The tokens that may still be valid at the provider; absent if there are none.",
    "retriedUntil": """
    The time until which the daemon retries the revocation in the background, even after a \
    restart; absent if it does not retry.
    """,
  ]
}
