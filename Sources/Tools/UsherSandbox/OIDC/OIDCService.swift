/// A well-known OpenID provider, as a table of what it does otherwise than the sandbox's own.
///
/// <doc:OpenIDServices> describes each service and where its behaviour is documented.
struct OIDCService: Sendable {
  /// The name of the preset, which is also the prefix of the names of the endpoints.
  let name: String
  let title: String
  /// The issuer's path.
  let path: String
  let client: Client
  /// The settings without changes by a test.
  let settings: OIDCBackendSettings
  /// The endpoints that the service has, by their names without the prefix.
  let endpoints: Set<String>
  /// The members of the metadata.
  let metadata: Set<String>
  let refreshTokens: TokenTerms.RefreshTokens
  /// The scopes that the service knows; nil: any scope is granted.
  var scopes: Set<String>?
  /// Whether an invalid authorization request gets an error page instead of a redirect.
  var showsRefusals = false
  /// The names of scopes in token responses, if they differ from those of the request. An empty
  /// name stands for a scope that the response omits.
  var grantedNames: [String: String] = [:]
  /// Whether token responses contain `created_at`.
  var namesCreation = false
  var refreshEndsAccessTokens = false
  var newGrantReplacesRefreshTokens = false
  var revocation = Revocation.standard
  /// The errors of the token endpoint in place of the sandbox's, of which the first that fits
  /// counts.
  var errors: [Refusal] = []
  /// The path of the metadata for all directories (tenants), whose issuer is a template; nil if
  /// there is none.
  var directoriesPath: String?

  enum Revocation: Sendable {
    /// A refresh token is revoked with its grant, an access token alone.
    case standard
    /// Any token is revoked with its grant.
    case wholeGrant
    /// Any token is revoked with its grant, without authentication of the client. A token that is
    /// not valid is refused.
    case openWholeGrant
  }

  /// An error of the token endpoint.
  struct Refusal: Sendable {
    /// The error code of the sandbox that this error replaces.
    let replaced: String
    /// The description of the sandbox's error; nil: any.
    var cause: String?
    let error: String
    let description: String
    var status: Int?
    /// Further members of the response.
    var more: [String: JSON] = [:]
  }

  /// Members of the metadata that every provider has (OIDC Discovery §3).
  static let requiredMetadata: Set = [
    "issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint",
    "response_types_supported", "subject_types_supported", "id_token_signing_alg_values_supported",
    "scopes_supported", "claims_supported",
  ]

  /// Endpoints that every provider has.
  static let requiredEndpoints: Set = [
    "discovery", "jwks", "authorize", "login", "consent", "token", "userinfo",
  ]

  func terms(_ settings: OIDCBackendSettings) -> TokenTerms {
    var terms = settings.terms
    terms.refreshTokens = settings.refreshTokens ? refreshTokens : .never
    terms.refreshEndsAccessTokens = refreshEndsAccessTokens
    terms.newGrantReplacesRefreshTokens = newGrantReplacesRefreshTokens
    terms.reuseEndsGrant = false
    return terms
  }

  /// Refuses a scope that the service does not know.
  func check(_ scope: [String]) throws(OAuthError) {
    guard let unknown = scope.first(where: { scopes?.contains($0) == false }) else { return }
    throw OAuthError("invalid_scope", "some requested scopes were invalid: \(unknown.printable)")
  }

  func configurationSample(base: String) -> String {
    let credential = client.secret.map { secret in
      """

      client_credential = "\(name)-secret"

      # The client secret is \(secret)
      """
    }
    return """
      [[provider]]
      name = "\(name)"
      preset = "\(name)"
      issuer = "\(base)\(path)"
      client_id = "\(client.id)"\(credential ?? "")
      """
  }
}
