package import JSONRPC
package import UsherConfig
import UsherCore

extension OIDCMetadata {
  /// Returns whether the provider can be used without its metadata documents, because the
  /// configuration names every endpoint that a flow and an ID token need.
  package static func needsNoDocuments(_ settings: OIDCSettings) -> Bool {
    let named = settings.endpoints
    return named.token != nil && named.jwks != nil
      && (named.authorization != nil || named.deviceAuthorization != nil)
  }

  /// Returns the provider's metadata: the documents from ``wellKnownURLs(issuer:)`` merged with the
  /// configuration.
  ///
  /// The configuration takes precedence over the documents, and each document over later ones. A
  /// document of another issuer is discarded (RFC 8414 §3.3). If documents were fetched and all are
  /// discarded, the provider is unusable, even if the configuration names every endpoint. Members
  /// that the daemon does not need are not checked.
  ///
  /// - Parameter documents: The documents that were fetched and parsed, in the order of the URLs.
  ///   It may be empty if ``needsNoDocuments(_:)`` returns true.
  /// - Returns: `.found` or `.unusable`. Each flow checks whether the metadata has the endpoints
  ///   that it needs.
  package static func read(documents: [JSONValue], settings: OIDCSettings) -> Discovery {
    let issuer = settings.issuer.text
    let matching = documents.filter { $0["issuer"]?.stringValue?.hasSameBytes(as: issuer) ?? false }
    if matching.isEmpty, let template = documents.firstTemplate {
      return .unusable(
        message:
          "the issuer \(issuer) stands for many directories (tenants): set issuer to that of "
          + "one of them, \(template)")
    }
    if matching.isEmpty, let other = documents.first {
      return .unusable(
        message: "the metadata names another issuer than the configured one: expected \(issuer), "
          + "found \(ProviderText.found(other["issuer"]))")
    }
    if matching.isEmpty, !needsNoDocuments(settings) {
      return .unusable(message: "the provider has no metadata")
    }
    do {
      return .found(
        try OIDCMetadata(MetadataReader(documents: matching, settings: settings), settings))
    } catch {
      return .unusable(message: error.message)
    }
  }

  /// Creates the metadata of a provider without discovery, which the configuration contains; nil
  /// for an OpenID provider.
  package init?(configured settings: OIDCSettings) {
    guard let rules = settings.oauth2 else { return nil }
    self.init(issuer: settings.issuer.text)
    authorizationEndpoint = rules.authorizationEndpoint
    tokenEndpoint = rules.tokenEndpoint
    userinfoEndpoint = rules.userinfoEndpoint
    deviceAuthorizationEndpoint = rules.deviceAuthorizationEndpoint
    revocationEndpoint = rules.revocationEndpoint
    if rules.revocationRequest != .standard { revokesAccessTokensOnly = true }
    // Most of these servers know the client secret in the form only.
    clientAuthMethods = ["client_secret_post"]
  }

  private init(_ reader: MetadataReader, _ settings: OIDCSettings) throws(InvalidValue) {
    let named = settings.endpoints
    self.init(issuer: settings.issuer.text)
    authorizationEndpoint = try reader.url("authorization_endpoint", or: named.authorization)
    tokenEndpoint = try reader.clientURL("token_endpoint", or: named.token)
    userinfoEndpoint = try reader.clientURL("userinfo_endpoint", or: named.userinfo)
    revocationEndpoint = try reader.clientURL("revocation_endpoint", or: named.revocation)
    deviceAuthorizationEndpoint = try reader.clientURL(
      "device_authorization_endpoint", or: named.deviceAuthorization)
    backchannelAuthenticationEndpoint = try reader.clientURL(
      "backchannel_authentication_endpoint", or: named.backchannelAuthentication)
    backchannelDeliveryModes = reader.texts("backchannel_token_delivery_modes_supported")
    endSessionEndpoint = try reader.url("end_session_endpoint", or: named.endSession)
    pushedAuthorizationRequestEndpoint = try reader.clientURL(
      "pushed_authorization_request_endpoint", or: named.pushedAuthorizationRequest)
    registrationEndpoint = try reader.url("registration_endpoint", or: named.registration)
    // Metadata that is of no use may be wrong: it was not read before.
    if settings.grantManagement {
      grantManagementEndpoint = try reader.clientURL("grant_management_endpoint", or: nil)
      grantManagementActions = reader.texts("grant_management_actions_supported")
    }
    jwksURI = try reader.url("jwks_uri", or: named.jwks)
    clientAuthMethods = reader.texts("token_endpoint_auth_methods_supported")
    revocationAuthMethods = reader.texts("revocation_endpoint_auth_methods_supported")
    clientAuthAlgorithms = reader.texts("token_endpoint_auth_signing_alg_values_supported")
    idTokenAlgorithms = reader.texts("id_token_signing_alg_values_supported")
    responseAlgorithms = reader.texts("authorization_signing_alg_values_supported")
    userinfoAlgorithms = reader.texts("userinfo_signing_alg_values_supported")
    scopes = reader.texts("scopes_supported")
    responseModes = reader.texts("response_modes_supported")
    dpopAlgorithms = reader.texts("dpop_signing_alg_values_supported")
    codeChallengeMethods = reader.texts("code_challenge_methods_supported")
    if reader.isTrue("require_pushed_authorization_requests") { requiresPushedRequests = true }
    if reader.isTrue("claims_parameter_supported") { supportsClaims = true }
    if reader.isTrue("client_id_metadata_document_supported") { supportsClientDocuments = true }
    if reader.isTrue("require_signed_request_object") { requiresSignedRequests = true }
    requestObjectAlgorithms = reader.texts("request_object_signing_alg_values_supported")
    namesIssuerInRedirect = reader.isTrue("authorization_response_iss_parameter_supported")
    if reader.isTrue("tls_client_certificate_bound_access_tokens") {
      bindsAccessTokensToCertificate = true
    }
    guard let tokenEndpoint else { throw InvalidValue("the metadata has no token_endpoint") }
    if settings.clientAuth.usesCertificate, !tokenEndpoint.hasPrefix("https://") {
      throw InvalidValue(
        "the metadata's token_endpoint is not https, which the client's certificate needs; if the "
          + "provider has an address for mutual TLS, set it in [provider.endpoints]")
    }
  }
}

extension [JSONValue] {
  /// The first issuer that is a template for the directories of a server, as Microsoft Entra has it
  /// at its addresses for all directories; nil if no document has one. No token has such an issuer,
  /// so the daemon could not tell whose it is.
  fileprivate var firstTemplate: String? {
    let placeholder = "{tenantid}"
    let template = lazy.compactMap { $0["issuer"]?.stringValue }.first {
      $0.contains(placeholder)
    }
    return template.map { ProviderText.clean($0.replacing(placeholder, with: "TENANT-ID")) }
  }
}

private struct MetadataReader {
  let documents: [JSONValue]
  let settings: OIDCSettings

  /// Returns the URL of an endpoint. An override from the configuration is returned unchecked.
  ///
  /// - Throws: A sentence that names the member, if the daemon must not call the discovered URL. It
  ///   may quote the URL's host.
  func url(_ name: String, or override: ProviderURL?) throws(InvalidValue) -> String? {
    if let override { return override.text }
    return try first(name).map { value throws(InvalidValue) in try url(value, name) }
  }

  /// Returns the URL of an endpoint at which a client authenticates itself or presents a token: its
  /// alias for mutual TLS if the client has a certificate and there is an alias (RFC 8705 §5).
  func clientURL(_ name: String, or override: ProviderURL?) throws(InvalidValue) -> String? {
    let aliases = "mtls_endpoint_aliases"
    guard override == nil, settings.clientAuth.usesCertificate,
      let alias = documents.lazy.compactMap({ $0[aliases]?[name] }).first(where: { !$0.isNull })
    else { return try url(name, or: override) }
    return try url(alias, "\(aliases).\(name)")
  }

  private func url(_ value: JSONValue, _ name: String) throws(InvalidValue) -> String {
    guard let text = value.stringValue else {
      throw InvalidValue("the metadata's \(name) is not a string")
    }
    guard let url = ProviderURL(usable: text) else {
      throw InvalidValue("the metadata's \(name) is neither https nor http on the loopback")
    }
    if let flaw = settings.flaw(ofDiscovered: url) {
      throw InvalidValue("the metadata's \(name) \(flaw)")
    }
    return url.text
  }

  func texts(_ name: String) -> [String]? { first(name)?.arrayValue?.compactMap(\.stringValue) }

  /// Whether any of the documents sets the member to true, so that the stricter document takes
  /// precedence.
  func isTrue(_ name: String) -> Bool { documents.contains { $0[name] == .bool(true) } }

  private func first(_ name: String) -> JSONValue? {
    documents.lazy.compactMap { $0[name] }.first { !$0.isNull }
  }
}

extension ProviderURL {
  /// Creates a URL from a provider's text; nil if the daemon must not call it.
  init?(usable text: String) { do { try self.init(setting: text) } catch { return nil } }
}
