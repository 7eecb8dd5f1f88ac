public import UsherCore

/// Returns the caller's tokens, without their values.
public struct TokenList: Method, Equatable {
  public static let name = "token.list"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, readsSharedAccounts: true)
  public static let summary = "List the caller's tokens, without their values."

  // Each filter that is given must match.
  public var account: AccountID?
  public var provider: ProviderName?

  public init(account: AccountID? = nil, provider: ProviderName? = nil) {
    self.account = account
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var tokens: [TokenList.Entry]

    public init(tokens: [TokenList.Entry]) {
      self.tokens = tokens
    }
  }

  public struct Entry: Codable, Sendable, Equatable {
    public var account: AccountID
    public var provider: ProviderName
    public var token: TokenSummary

    public init(account: AccountID, provider: ProviderName, token: TokenSummary) {
      self.account = account
      self.provider = provider
      self.token = token
    }
  }
}
