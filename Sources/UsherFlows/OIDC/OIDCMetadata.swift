/// What a provider says of itself (OIDC Discovery §3, RFC 8414 §2), as far as it is needed, with the
/// configuration's endpoints laid over it.
///
/// Every address in it is https, or http on the loopback; what discovery named also keeps to
/// `OIDCSettings.flaw(ofDiscovered:)`.
package struct OIDCMetadata: Codable, Sendable, Equatable {
  package var issuer: String
  package var authorizationEndpoint: String?
  package var tokenEndpoint: String?
  package var userinfoEndpoint: String?
  package var revocationEndpoint: String?
  package var deviceAuthorizationEndpoint: String?
  package var jwksURI: String?
  /// `token_endpoint_auth_methods_supported`; nil where it is not told.
  package var clientAuthMethods: [String]?
  /// `revocation_endpoint_auth_methods_supported`; nil where it is not told.
  package var revocationAuthMethods: [String]?
  /// `id_token_signing_alg_values_supported`; nil where it is not told.
  package var idTokenAlgorithms: [String]?
  /// Whether every redirect names its issuer (RFC 9207 §3): one that does not is then refused.
  package var namesIssuerInRedirect = false

  package init(issuer: String) {
    self.issuer = issuer
  }

  /// Where the two documents are: OIDC Discovery §4 appends to the issuer, RFC 8414 §3.1 inserts
  /// before its path.
  ///
  /// - Parameter issuer: An absolute URL without query.
  package static func wellKnownURLs(issuer: String) -> [String] {
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    // scheme:, nothing, host, the path if there is one
    let parts = base.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    let host = parts.prefix(3).joined(separator: "/")
    let path = parts.dropFirst(3).first.map { "/" + $0 } ?? ""
    return [
      base + "/.well-known/openid-configuration",
      host + "/.well-known/oauth-authorization-server" + path,
    ]
  }
}
