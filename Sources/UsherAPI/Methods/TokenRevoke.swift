import JSONRPC
public import UsherCore

/// Deletes an account's tokens and revokes them at the provider. The account stays.
public struct TokenRevoke: Method, Equatable {
  public static let name = "token.revoke"
  public static let traits = MethodTraits(access: .app, audit: .everything, isConfirmable: true)
  public static let subject = Subject<Self>.oneAccount { ($0.account, $0.provider) }
  public static let summary =
    "Deletes an account's tokens and revokes them at the provider. The account stays."

  /// The account whose tokens are revoked; absent if ``provider`` identifies it.
  public var account: AccountID?
  /// The provider, as an alternative to ``account`` if the caller has only one account there. With
  /// several accounts the call fails with `invalid_params` and field `account`.
  public var provider: ProviderName?

  public init(account: AccountID? = nil, provider: ProviderName? = nil) {
    self.account = account
    self.provider = provider
  }

  public typealias Reply = RevocationReply

  public static let example = MethodExample(
    ["account": "acc_1"], returns: ["account": "acc_1", "revoked": "done"])
}
