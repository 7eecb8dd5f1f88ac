import JSONRPC
public import UsherCore

/// Registers the daemon as a client of a provider, or changes that registration.
public struct ProviderRegister: Method, Equatable {
  public static let name = "provider.register"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary =
    "Registers the daemon as a client of a provider, or changes that registration."
  public static let discussion = """
    For a provider of type `oidc` that has no `client_id` in the configuration (RFC 7591). The \
    daemon stores the client secret and the registration access token encrypted, uses the client \
    from then on, and returns neither. A provider that is registered gives `invalid_params`, \
    unless `update` is true: then the daemon registers what its configuration says now (RFC 7592), \
    and stores the new secret if the provider issues one.

    If the call ends without a reply, the provider may have registered a client that the daemon \
    does not know. The call can be made again: it registers another client.
    """

  /// The name of the provider.
  public var provider: ProviderName
  /// The token with which the provider permits registrations, if it demands one. It is not stored.
  /// Not with ``update``.
  public var initialAccessToken: WireSecret?
  /// Whether an existing registration is changed.
  public var update: Bool?

  public init(
    provider: ProviderName, initialAccessToken: WireSecret? = nil, update: Bool? = nil
  ) {
    self.provider = provider
    self.initialAccessToken = initialAccessToken
    self.update = update
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The provider's issuer identifier.
    public var issuer: String
    /// The client id that the provider issued.
    public var clientID: String
    /// How the daemon authenticates itself as the client, such as `client_secret_basic` (OIDC Core
    /// §9).
    public var authMethod: String
    /// The redirect URIs that are registered.
    public var redirectURIs: [String]
    /// When the client secret expires; null if it does not, or there is none.
    @Nullable public var secretExpiresAt: Timestamp?
    /// Whether the provider lets the daemon change and delete the registration (RFC 7592).
    public var isManaged: Bool

    public init(
      issuer: String, clientID: String, authMethod: String, redirectURIs: [String],
      secretExpiresAt: Timestamp?, isManaged: Bool
    ) {
      self.issuer = issuer
      self.clientID = clientID
      self.authMethod = authMethod
      self.redirectURIs = redirectURIs
      self.secretExpiresAt = secretExpiresAt
      self.isManaged = isManaged
    }
  }

  public static let example = MethodExample(
    ["provider": "work"],
    returns: [
      "issuer": "https://id.example.com", "clientID": "s6BhdRkqt3",
      "authMethod": "client_secret_basic", "redirectURIs": ["http://127.0.0.1/callback"],
      "secretExpiresAt": nil, "isManaged": true,
    ])
}
