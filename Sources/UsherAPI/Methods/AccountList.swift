public import UsherCore

/// The caller's accounts.
public struct AccountList: Method, Equatable {
  public static let name = "account.list"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, audit: .everythingAggregated, showsProfiles: true,
    readsSharedAccounts: true)
  public static let summary = "The caller's accounts."

  public var provider: ProviderName?

  public init(provider: ProviderName? = nil) {
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable {
    /// All of them, each owner's oldest first. Where they are more than `limits.accounts_in_list`, the
    /// call is refused with `message_too_large` instead: name a provider.
    public var accounts: [Account]

    public init(accounts: [Account]) {
      self.accounts = accounts
    }
  }
}
