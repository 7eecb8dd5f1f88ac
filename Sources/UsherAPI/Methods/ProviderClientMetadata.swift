public import JSONRPC
public import UsherCore

/// Returns the document that describes the daemon as a client of a provider.
public struct ProviderClientMetadata: Method, Equatable {
  public static let name = "provider.clientMetadata"
  public static let traits = MethodTraits(access: .admin, repetition: .always, audit: .everything)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary =
    "Returns the document that describes the daemon as a client of a provider."
  public static let discussion = """
    For a provider of type `oidc` whose `client_id` is an https URL with a path, at which the \
    operator publishes the document (draft-ietf-oauth-client-id-metadata-document). The daemon \
    publishes nothing. The document has no secret: the client is public, or it authenticates \
    itself by `private_key_jwt`, and the document has the public key set. A client with a secret \
    or a certificate gives `invalid_params`; a key that is not set gives `not_found`, and \
    `provider.jwks` makes it.
    """

  /// The name of the provider.
  public var provider: ProviderName

  public init(provider: ProviderName) { self.provider = provider }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The document: client metadata (RFC 7591 §2) and the `client_id`.
    public var document: JSONValue

    public init(document: JSONValue) { self.document = document }
  }

  public static let example = MethodExample(
    ["provider": "work"],
    returns: [
      "document": [
        "client_id": "https://www.example.com/usherd.json", "client_name": "usherd",
        "application_type": "native", "redirect_uris": ["http://127.0.0.1/callback"],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "scope": "openid profile offline_access", "token_endpoint_auth_method": "none",
      ]
    ])
}
