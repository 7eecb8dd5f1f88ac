public import UsherCore

/// An access token that is valid now; refreshed once, however many ask.
public struct TokenGet: Method, Equatable {
  public static let name = "token.get"
  public static let traits = MethodTraits(
    access: .app, repetition: .unlessTrue("forceRefresh"), audit: .everythingAggregated,
    isConfirmable: true, handsOutSecret: true, readsSharedAccounts: true)
  public static let summary = "An access token that is valid now; refreshed once, however many ask."

  /// Nil where ``provider`` says it.
  public var account: AccountID?
  /// Instead of ``account``, where the caller has one account of it; several give `invalid_params`
  /// with field `account`.
  public var provider: ProviderName?
  /// Within the granted scope; default: all of it. A part of it only where the provider is configured
  /// with `narrow_refresh`, else `invalid_params` with field `scope`: the grant is shared.
  public var scope: String?
  public var audience: String?
  /// How long the token must still be good; default 60, at most 86400. Where the provider's tokens do
  /// not live longer than that, one that is in the first half of its life is handed out; one that was
  /// fetched within the last tenth of its life, at most 10 seconds ago, always is.
  public var minValidSeconds: Int?
  /// Refresh though the token is valid; at most once in `forceRefreshSeconds` per account.
  public var forceRefresh: Bool?

  public init(
    account: AccountID? = nil, provider: ProviderName? = nil, scope: String? = nil,
    audience: String? = nil, minValidSeconds: Int? = nil, forceRefresh: Bool? = nil
  ) {
    self.account = account
    self.provider = provider
    self.scope = scope
    self.audience = audience
    self.minValidSeconds = minValidSeconds
    self.forceRefresh = forceRefresh
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var accessToken: WireSecret
    public var tokenType: String
    /// Null where the provider did not tell.
    @Nullable public var expiresAt: Timestamp?
    public var scope: String
    public var account: AccountID

    public init(
      accessToken: WireSecret, tokenType: String, expiresAt: Timestamp? = nil, scope: String,
      account: AccountID
    ) {
      self.accessToken = accessToken
      self.tokenType = tokenType
      self.expiresAt = expiresAt
      self.scope = scope
      self.account = account
    }
  }
}
