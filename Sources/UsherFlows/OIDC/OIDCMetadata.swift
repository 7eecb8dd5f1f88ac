/// The members of a provider's metadata that the daemon needs (OIDC Discovery §3, RFC 8414 §2).
///
/// Endpoints from the configuration replace those from discovery. For a client with a certificate
/// the endpoints are those for mutual TLS (`mtls_endpoint_aliases`, RFC 8705 §5). Every URL is
/// https, or http on the loopback. A discovered URL also satisfies
/// `OIDCSettings.flaw(ofDiscovered:)`.
package struct OIDCMetadata: Codable, Sendable, Equatable {
  package var issuer: String
  package var authorizationEndpoint: String?
  package var tokenEndpoint: String?
  package var userinfoEndpoint: String?
  package var revocationEndpoint: String?
  package var deviceAuthorizationEndpoint: String?
  package var backchannelAuthenticationEndpoint: String?
  /// How the provider delivers the tokens of an authentication on the user's own device
  /// (`backchannel_token_delivery_modes_supported`); nil if the metadata does not list it.
  package var backchannelDeliveryModes: [String]?
  /// The page that ends the user's session (RP-Initiated Logout §2.1).
  package var endSessionEndpoint: String?
  package var pushedAuthorizationRequestEndpoint: String?
  /// The endpoint at which the daemon registers itself as a client (RFC 7591).
  package var registrationEndpoint: String?
  package var jwksURI: String?
  /// The client authentication methods of the token endpoint
  /// (`token_endpoint_auth_methods_supported`); nil if the metadata does not list them.
  package var clientAuthMethods: [String]?
  /// The client authentication methods of the revocation endpoint
  /// (`revocation_endpoint_auth_methods_supported`); nil if the metadata does not list them.
  package var revocationAuthMethods: [String]?
  /// The signature algorithms of client assertions at the token endpoint
  /// (`token_endpoint_auth_signing_alg_values_supported`); nil if the metadata does not list them.
  package var clientAuthAlgorithms: [String]?
  /// The algorithms with which the provider signs ID tokens
  /// (`id_token_signing_alg_values_supported`); nil if the metadata does not list them.
  package var idTokenAlgorithms: [String]?
  /// The algorithms with which the provider signs its answers to authorization requests
  /// (`authorization_signing_alg_values_supported`); nil if the metadata does not list them.
  package var responseAlgorithms: [String]?
  /// The algorithms with which the provider signs userinfo answers
  /// (`userinfo_signing_alg_values_supported`); nil if the metadata does not list them.
  package var userinfoAlgorithms: [String]?
  /// Whether the provider adds `iss` to every redirect (RFC 9207 §3). A redirect without it is then
  /// refused.
  package var namesIssuerInRedirect = false
  /// The scopes that the provider knows (`scopes_supported`); nil if the metadata does not list
  /// them. A provider need not list all that it knows.
  package var scopes: [String]?
  /// The ways in which the provider can return the answer to an authorization request
  /// (`response_modes_supported`); nil if the metadata does not list them.
  package var responseModes: [String]?
  /// The methods of PKCE that the provider supports (`code_challenge_methods_supported`); nil if
  /// the metadata does not list them.
  package var codeChallengeMethods: [String]?
  /// Whether the provider accepts only authorization requests that were pushed to it (RFC 9126 §5);
  /// nil in flows that an older version stored.
  package var requiresPushedRequests: Bool?
  /// Whether the provider supports the parameter `claims` (`claims_parameter_supported`); nil means
  /// false.
  package var supportsClaims: Bool?
  /// Whether the provider accepts only authorization requests that the client has signed (RFC 9101
  /// §10.5); nil means false.
  package var requiresSignedRequests: Bool?
  /// The algorithms of signed authorization requests
  /// (`request_object_signing_alg_values_supported`); nil if the metadata does not list them.
  package var requestObjectAlgorithms: [String]?
  /// The signature algorithms of DPoP proofs (`dpop_signing_alg_values_supported`, RFC 9449 §5.1);
  /// nil if the metadata does not list them.
  package var dpopAlgorithms: [String]?
  /// Whether the provider binds the access tokens of a client to its certificate
  /// (`tls_client_certificate_bound_access_tokens`, RFC 8705 §3.3); nil means false.
  package var bindsAccessTokensToCertificate: Bool?
  /// The address at which grants are deleted (`grant_management_endpoint`); nil in flows that an
  /// older version stored.
  package var grantManagementEndpoint: String?
  /// What authorization requests may do with grants (`grant_management_actions_supported`); nil if
  /// the metadata does not list it.
  package var grantManagementActions: [String]?
  /// Whether a client id may be the address of a document with the client's metadata
  /// (`client_id_metadata_document_supported`); nil means false.
  package var supportsClientDocuments: Bool?
  /// Whether the revocation endpoint takes access tokens only; nil means false.
  package var revokesAccessTokensOnly: Bool?

  package init(issuer: String) { self.issuer = issuer }

  /// Returns the URLs of the documents in which a provider may publish its metadata: two, or four
  /// for an issuer with a path.
  ///
  /// OIDC Discovery §4 appends the well-known path to the issuer. RFC 8414 §3.1 inserts it before
  /// the issuer's path, also that of OIDC (§5). Servers do either with each document, and may name
  /// an endpoint in one document only.
  ///
  /// - Parameter issuer: An absolute URL without a query.
  package static func wellKnownURLs(issuer: String) -> [String] {
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    // The parts are the scheme with its colon, an empty string, the host, and the path if there is
    // one.
    let parts = base.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    let host = parts.prefix(3).joined(separator: "/")
    let path = parts.dropFirst(3).first.map { "/" + $0 } ?? ""
    let (oidc, oauth) = (
      "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"
    )
    let usual = [base + oidc, host + oauth + path]
    return path.isEmpty ? usual : usual + [host + oidc + path, base + oauth]
  }
}
