import JSONRPC
public import UsherCore

/// Returns the caller's accounts that have one-time codes.
public struct TOTPList: Method, Equatable {
  public static let name = "totp.list"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, readsSharedAccounts: true)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary = "Returns the caller's accounts that have one-time codes."

  /// Returns only the accounts at this provider.
  public var provider: ProviderName?

  public init(provider: ProviderName? = nil) { self.provider = provider }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The accounts.
    public var accounts: [TOTPList.Entry]

    public init(accounts: [TOTPList.Entry]) { self.accounts = accounts }
  }

  public struct Entry: Codable, Sendable, Equatable, SchemaDocumented {
    /// The id of the account.
    public var account: AccountID
    /// The provider of the account.
    public var provider: ProviderName
    /// The account's text for people.
    public var label: String
    /// The number of seconds for which each code is valid.
    public var periodSeconds: Int
    /// The number of digits of a code.
    public var digits: Int

    public init(
      account: AccountID, provider: ProviderName, label: String, periodSeconds: Int, digits: Int
    ) {
      self.account = account
      self.provider = provider
      self.label = label
      self.periodSeconds = periodSeconds
      self.digits = digits
    }
  }

  public static let example = MethodExample(
    [:],
    returns: [
      "accounts": [
        [
          "account": "acc_1", "provider": "bank", "label": "Ada", "periodSeconds": 30,
          "digits": 6,
        ]
      ]
    ])
}
