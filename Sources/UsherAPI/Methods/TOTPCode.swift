import JSONRPC
public import UsherCore

/// Returns the current one-time code (TOTP, RFC 6238) of an account. Its secret never leaves the
/// daemon.
public struct TOTPCode: Method, Equatable {
  public static let name = "totp.code"
  public static let traits = MethodTraits(
    access: .app, audit: .everythingAggregated, isConfirmable: true, handsOutSecret: true,
    readsSharedAccounts: true)
  public static let subject = Subject<Self>.oneAccountWithCodes { ($0.account, $0.provider) }
  public static let summary = "Returns the current one-time code (TOTP, RFC 6238) of an account."
  public static let discussion = "The secret of the code never leaves the daemon."

  /// The account whose code is returned; absent if ``provider`` identifies it.
  public var account: AccountID?
  /// The provider, as an alternative to ``account`` if only one of the caller's accounts there has
  /// one-time codes. With several the call fails with `invalid_params` and field `account`.
  public var provider: ProviderName?

  public init(account: AccountID? = nil, provider: ProviderName? = nil) {
    self.account = account
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The digits of the code, with leading zeros.
    public var code: WireSecret
    /// The number of seconds for which each code is valid.
    public var periodSeconds: Int
    /// The time at which the next code replaces this one.
    public var expiresAt: Timestamp

    public init(code: WireSecret, periodSeconds: Int, expiresAt: Timestamp) {
      self.code = code
      self.periodSeconds = periodSeconds
      self.expiresAt = expiresAt
    }
  }

  public static let example = MethodExample(
    ["account": "acc_1"],
    returns: ["code": "042917", "periodSeconds": 30, "expiresAt": .exampleTime])
}
