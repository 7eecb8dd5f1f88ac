public import UsherCore

/// Take back what people agreed that clients be told.
///
/// What nobody may see any more is wiped from the profile, too. A client that a rule names takes back
/// its own consents only: another's it does not find.
public struct ConsentRevoke: Method, Equatable {
  public static let name = "consent.revoke"
  public static let traits = MethodTraits(access: .app, audit: .everything)
  public static let summary = "Take back what people agreed that clients be told."

  /// This or ``provider`` must be given; else `invalid_params` with field `account`.
  public var account: AccountID?
  /// Of all the caller's accounts of this provider.
  public var provider: ProviderName?
  /// Only what this client was granted; default: any that the caller may speak for.
  public var client: String?
  /// Only this one; default: all.
  public var grant: String?

  public init(
    account: AccountID? = nil, provider: ProviderName? = nil, client: String? = nil,
    grant: String? = nil
  ) {
    self.account = account
    self.provider = provider
    self.client = client
    self.grant = grant
  }

  public struct Reply: Codable, Sendable, Equatable {
    /// How many were there.
    public var revoked: Int

    public init(revoked: Int) {
      self.revoked = revoked
    }
  }
}
