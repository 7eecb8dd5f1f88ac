public import JSONRPC
public import UsherCore

/// Returns the public keys that a provider needs of the daemon, as a key set.
public struct ProviderJWKS: Method, Equatable {
  public static let name = "provider.jwks"
  public static let traits = MethodTraits(access: .admin, repetition: .always, audit: .everything)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary =
    "Returns the public keys that a provider needs of the daemon."
  public static let discussion = """
    For the method `private_key_jwt` (OIDC Core §9), for clients with a certificate (RFC 8705), \
    whose key has the member `x5c` with the certificate, and for encrypted ID tokens and userinfo \
    answers (OIDC Core §10.2). The provider needs this key set at the registration of the client. \
    The private keys are the provider's `client_credential` and `decryption_credential`, and they \
    never leave the daemon. If one is not set, the call fails with `not_found`, unless `create` is \
    true: then the daemon makes a key on the curve P-256, for `self_signed_tls_client_auth` with a \
    certificate. An RSA key must be made by other means. The members `use` are `sig` and `enc`.
    """

  /// The name of the provider.
  public var provider: ProviderName
  /// Whether the daemon makes and stores a key if its credential is not set. A credential that is
  /// set is never replaced.
  public var create: Bool?

  public init(provider: ProviderName, create: Bool? = nil) {
    self.provider = provider
    self.create = create
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The keys, as JWKs (RFC 7517).
    public var keys: [JSONValue]

    public init(keys: [JSONValue]) { self.keys = keys }
  }

  public static let example = MethodExample(
    ["provider": "work", "create": true],
    returns: [
      "keys": [
        [
          "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig",
          "kid": "7O1c8vBzEKIlO3Ql6j0Yc0bVqTJQ1Lk1Yk8o6wF4q0s",
          "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
          "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        ]
      ]
    ])
}
