import JSONRPC
public import UsherCore

/// Deletes an account and revokes its tokens at the provider, if the provider supports revocation.
public struct AccountForget: Method, Equatable {
  public static let name = "account.forget"
  public static let traits = MethodTraits(access: .app, audit: .everything, isConfirmable: true)
  public static let subject = Subject<Self>.oneAccount { ($0.account, $0.provider) }
  public static let summary =
    "Deletes an account, and revokes its tokens at the provider where the provider supports that."

  /// The account to delete; absent if ``provider`` identifies it.
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

  public typealias Reply = RevocationReply

  public static let example = MethodExample(
    ["account": "acc_1"], returns: ["account": "acc_1", "revoked": "done"])
}
