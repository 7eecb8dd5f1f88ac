public import UsherCore

/// What people agreed that the caller's clients be told (RPC.md § Callers and policy).
///
/// A client that a rule names sees its own consents only; the user's own programs and the
/// administrator's see those of all clients of that user.
public struct ConsentList: Method, Equatable {
  public static let name = "consent.list"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let summary = "What people agreed that the caller's clients be told."

  // Each that is there narrows the list.
  public var account: AccountID?
  public var provider: ProviderName?

  public init(account: AccountID? = nil, provider: ProviderName? = nil) {
    self.account = account
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var consents: [ConsentList.Entry]

    public init(consents: [ConsentList.Entry]) {
      self.consents = consents
    }
  }

  /// One that has not expired.
  public struct Entry: Codable, Sendable, Equatable {
    public var account: AccountID
    public var provider: ProviderName
    /// The rule's name; `(user)` for the user's own programs, which no rule names.
    public var client: String
    /// The provider's word: `read.firstname`.
    public var grant: String
    public var grantedAt: Timestamp
    public var expiresAt: Timestamp
    /// The uid of the user who was there when it was granted.
    public var grantedBy: UInt32

    public init(
      account: AccountID, provider: ProviderName, client: String, grant: String,
      grantedAt: Timestamp, expiresAt: Timestamp, grantedBy: UInt32
    ) {
      self.account = account
      self.provider = provider
      self.client = client
      self.grant = grant
      self.grantedAt = grantedAt
      self.expiresAt = expiresAt
      self.grantedBy = grantedBy
    }
  }
}
