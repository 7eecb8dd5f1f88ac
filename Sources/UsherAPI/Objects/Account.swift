public import JSONRPC
public import UsherCore

/// What a successful log-in leaves behind (RPC.md § Objects). Never a token's value.
public struct Account: Codable, Sendable, Equatable {
  public var id: AccountID
  public var provider: ProviderName
  /// The provider's own name of the person: OIDC's `sub`.
  public var subject: String
  /// For people: a name, an e-mail address, else the subject.
  public var label: String
  /// The owner's uid; absent where a client owns it, whichever user it runs as.
  public var owner: UInt32?
  /// The client named by a rule, where ownership is the client's.
  @Nullable public var client: String?
  public var createdAt: Timestamp
  public var keepAlive: Bool
  public var attributes: [String: JSONValue]
  /// The provider's claims about the person, by consent.
  public var profile: [String: JSONValue]?
  public var tokens: [TokenSummary]

  /// Integers above 2^53 in `attributes` and `profile` become strings (RPC.md § Transport).
  public init(
    id: AccountID, provider: ProviderName, subject: String, label: String, owner: UInt32?,
    client: String?, createdAt: Timestamp, keepAlive: Bool, attributes: [String: JSONValue],
    profile: [String: JSONValue]?, tokens: [TokenSummary]
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
    self.tokens = tokens
  }
}

/// A token without its value.
public struct TokenSummary: Codable, Sendable, Equatable {
  public var audience: String?
  public var scope: String
  @Nullable public var expiresAt: Timestamp?
  public var status: Status

  public enum Status: String, Codable, Sendable, Equatable, CaseIterable {
    /// Valid now.
    case valid
    /// Expired; the next `token.get` refreshes it.
    case refreshable
    /// Nothing but a new log-in helps.
    case dead
  }

  public init(audience: String?, scope: String, expiresAt: Timestamp?, status: Status) {
    self.audience = audience
    self.scope = scope
    self.expiresAt = expiresAt
    self.status = status
  }
}
