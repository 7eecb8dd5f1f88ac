public import UsherCore

/// The one-time code that an account's authenticator shows now. Its secret never leaves the daemon.
public struct TOTPCode: Method, Equatable {
  public static let name = "totp.code"
  public static let traits = MethodTraits(
    access: .app, audit: .everythingAggregated, isConfirmable: true, handsOutSecret: true,
    readsSharedAccounts: true)
  public static let summary = "The one-time code that an account's authenticator shows now."

  /// Nil where ``provider`` says it.
  public var account: AccountID?
  /// Instead of ``account``, where one account of it has a secret; several give `invalid_params` with
  /// field `account`.
  public var provider: ProviderName?

  public init(account: AccountID? = nil, provider: ProviderName? = nil) {
    self.account = account
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable {
    /// With its leading zeros.
    public var code: WireSecret
    /// How long each code is the one.
    public var periodSeconds: Int
    /// When the next code takes its place.
    public var expiresAt: Timestamp

    public init(code: WireSecret, periodSeconds: Int, expiresAt: Timestamp) {
      self.code = code
      self.periodSeconds = periodSeconds
      self.expiresAt = expiresAt
    }
  }
}
