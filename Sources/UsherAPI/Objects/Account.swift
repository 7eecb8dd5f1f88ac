public import JSONRPC
public import UsherCore

/// An account that a successful sign-in created, as clients see it. It never contains a token.
public struct Account: Codable, Sendable, Equatable {
  /// The id of the account, `acc_…`.
  public var id: AccountID
  /// The provider of the account.
  public var provider: ProviderName
  /// The provider's identifier of the person, such as the claim `sub` of OpenID Connect.
  public var subject: String
  /// The name of the account for people: a name, an e-mail address, or the subject.
  public var label: String
  /// The uid of the owner; absent if a client owns the account, whichever user it runs as.
  public var owner: UInt32?
  /// The client that owns the account, by the name of its rule; null if a user owns it.
  @Nullable public var client: String?
  /// The time of the first sign-in.
  public var createdAt: Timestamp
  /// Whether the daemon refreshes the account's tokens in the background.
  public var keepAlive: Bool
  /// The provider's values for the account that every client of its owner sees, independent of
  /// consents.
  public var attributes: [String: JSONValue]
  /// The provider's claims about the person, as far as the client may see them; absent if it may
  /// see none.
  public var profile: [String: JSONValue]?
  /// How the provider authenticated the user at the last sign-in; absent if it did not say so.
  public var authentication: Authentication?
  /// The tokens of the account, without their values.
  public var tokens: [TokenSummary]

  /// How a provider authenticated the user, by the ID token of the sign-in (OIDC Core §2).
  public struct Authentication: Codable, Sendable, Equatable, SchemaDocumented {
    /// The class of the authentication, `acr`; absent if the provider did not name it.
    public var acr: String?
    /// The methods of the authentication, `amr`, such as `pwd` and `otp` (RFC 8176); absent if the
    /// provider did not name them.
    public var amr: [String]?
    /// The time of the authentication, `auth_time`; absent if the provider did not name it.
    public var authTime: Timestamp?

    public init(acr: String? = nil, amr: [String]? = nil, authTime: Timestamp? = nil) {
      self.acr = acr
      self.amr = amr
      self.authTime = authTime
    }
  }

  /// Creates an account. Integers beyond ±2^53 in `attributes` and `profile` become strings,
  /// because many JSON readers store numbers as doubles.
  public init(
    id: AccountID, provider: ProviderName, subject: String, label: String, owner: UInt32?,
    client: String?, createdAt: Timestamp, keepAlive: Bool, attributes: [String: JSONValue],
    profile: [String: JSONValue]?, authentication: Authentication? = nil, tokens: [TokenSummary]
  ) {
    self.id = id
    self.provider = provider
    self.subject = subject
    self.label = label
    self.owner = owner
    self.client = client
    self.createdAt = createdAt
    self.keepAlive = keepAlive
    self.attributes = attributes.mapValues(\.wireForm)
    self.profile = profile?.mapValues(\.wireForm)
    self.authentication = authentication
    self.tokens = tokens
  }
}

/// The metadata of one token of an account. The token itself is not part of it.
public struct TokenSummary: Codable, Sendable, Equatable {
  /// Which token it is, as the `field` of `token.get`; absent for an access token.
  public var field: TokenGet.Field?
  /// The audience of the token; absent if it has none.
  public var audience: String?
  /// The scope of the token, as words with spaces between them; empty if it has none.
  public var scope: String
  /// The expiry of the token; null if the provider did not report it.
  @Nullable public var expiresAt: Timestamp?
  /// `valid`; `refreshable` if the token has expired and the next `token.get` refreshes it; `dead`
  /// if the user has to sign in again.
  public var status: Status

  public enum Status: String, Codable, Sendable, Equatable, CaseIterable {
    /// The access token is valid now.
    case valid
    /// The access token has expired; the next `token.get` refreshes it.
    case refreshable
    /// The access token cannot be refreshed; the user has to sign in again.
    case dead
  }

  public init(
    field: TokenGet.Field? = nil, audience: String?, scope: String,
    expiresAt: Timestamp?, status: Status
  ) {
    self.field = field
    self.audience = audience
    self.scope = scope
    self.expiresAt = expiresAt
    self.status = status
  }
}

extension Account: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Account",
    "An account that a successful sign-in created. It never contains the value of a token.")
}

extension TokenSummary: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "TokenSummary", "A token without its value.")
}
