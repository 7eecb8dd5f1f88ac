import JSONRPC
public import UsherCore

/// Returns the consents under which clients may see data of the caller's accounts.
///
/// A client that a rule names sees only its own consents. The user's own programs, and callers on
/// the admin socket, see the consents of all clients of that user.
public struct ConsentList: Method, Equatable {
  public static let name = "consent.list"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let subject = Subject<Self>.account { ($0.account, $0.provider) }
  public static let summary =
    "Returns the consents under which clients may see data of the caller's accounts."
  public static let discussion = """
    A client that a rule names sees only its own consents. The user's own programs, and callers on \
    the admin socket, see the consents of all clients of that user.
    """

  // A consent is returned if it matches each filter that is given.
  /// Returns only the consents for this account.
  public var account: AccountID?
  /// Returns only the consents for accounts at this provider.
  public var provider: ProviderName?

  public init(account: AccountID? = nil, provider: ProviderName? = nil) {
    self.account = account
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The consents that have not expired.
    public var consents: [ConsentList.Entry]

    public init(consents: [ConsentList.Entry]) { self.consents = consents }
  }

  /// A consent that has not expired.
  public struct Entry: Codable, Sendable, Equatable, SchemaDocumented {
    /// The account whose data the client may see.
    public var account: AccountID
    /// The provider of the account.
    public var provider: ProviderName
    /// The name of the client's rule; `(user)` for the user's own programs, which have no rule.
    public var client: String
    /// The provider's name for the grant: `read.firstname`.
    public var grant: String
    /// The time at which the user granted it.
    public var grantedAt: Timestamp
    /// The time from which the consent is not valid any more.
    public var expiresAt: Timestamp
    /// The uid of the user that granted it.
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

  public static let example = MethodExample(
    ["provider": "id"], returns: ["consents": [.exampleConsent]])
}
