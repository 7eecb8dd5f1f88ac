import JSONRPC
public import UsherCore

/// Returns the caller's accounts.
public struct AccountList: Method, Equatable {
  public static let name = "account.list"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, audit: .everythingAggregated, showsProfiles: true,
    readsSharedAccounts: true)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary = "Returns the caller's accounts."

  /// Returns only the accounts at this provider.
  public var provider: ProviderName?

  public init(provider: ProviderName? = nil) { self.provider = provider }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The accounts, the oldest of each owner first. With more than `limits.accounts_in_list`
    /// accounts the call fails with `message_too_large`; it may succeed for a single provider.
    public var accounts: [Account]

    public init(accounts: [Account]) { self.accounts = accounts }
  }

  public static let example = MethodExample(
    ["provider": "work"], returns: ["accounts": [.exampleAccount]])
}
