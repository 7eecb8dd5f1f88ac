import JSONRPC
public import UsherCore

/// Returns the caller's tokens, without their values.
public struct TokenList: Method, Equatable {
  public static let name = "token.list"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, readsSharedAccounts: true)
  public static let subject = Subject<Self>.account { ($0.account, $0.provider) }
  public static let summary = "Returns the caller's tokens, without their values."
  public static let discussion = "Each filter that is given must match."

  // A token is returned if it matches each filter that is given.
  /// Returns only the tokens of this account.
  public var account: AccountID?
  /// Returns only the tokens of accounts at this provider.
  public var provider: ProviderName?

  public init(account: AccountID? = nil, provider: ProviderName? = nil) {
    self.account = account
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The tokens.
    public var tokens: [TokenList.Entry]

    public init(tokens: [TokenList.Entry]) { self.tokens = tokens }
  }

  public struct Entry: Codable, Sendable, Equatable, SchemaDocumented {
    /// The account that the token belongs to.
    public var account: AccountID
    /// The provider of the account.
    public var provider: ProviderName
    /// The token without its value.
    public var token: TokenSummary

    public init(account: AccountID, provider: ProviderName, token: TokenSummary) {
      self.account = account
      self.provider = provider
      self.token = token
    }
  }

  public static let example = MethodExample(
    ["provider": "work"],
    returns: ["tokens": [["account": "acc_1", "provider": "work", "token": .exampleToken]]])
}
