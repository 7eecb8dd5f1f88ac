import JSONRPC
public import UsherCore

/// Returns one of the caller's accounts.
public struct AccountGet: Method, Equatable {
  public static let name = "account.get"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, audit: .everythingAggregated, isConfirmable: true,
    showsProfiles: true, readsSharedAccounts: true)
  public static let subject = Subject<Self>.account { ($0.account, nil) }
  public static let summary = "Returns one of the caller's accounts."

  /// The id of the account.
  public var account: AccountID

  public init(account: AccountID) { self.account = account }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The account.
    public var account: Account

    public init(account: Account) { self.account = account }
  }

  public static let example = MethodExample(
    ["account": "acc_1"], returns: ["account": .exampleAccount])
}
