package import JSONRPC
package import UsherConfig
package import UsherCore

/// What the daemon tells a provider about itself when it registers as a client (RFC 7591 §2).
package struct ClientMetadata: Sendable, Equatable {
  /// The URIs to which the flows let the provider redirect the browser.
  package let redirectURIs: [String]
  let grantTypes: [String]
  /// How the client authenticates itself.
  package let auth: OIDCClientAuth
  /// Whether the provider may register another method: the configuration names none.
  let permitsOtherAuth: Bool
  let scope: String
  /// The security profile that limits how the client authenticates itself.
  let profile: OIDCProfile
  /// Members that name algorithms, or that promise what the client always does.
  private let protection: [String: JSONValue]
  /// The public keys of a client that signs its assertions or gets encrypted answers.
  let keys: [JSONValue]
  /// The address of the document that has this metadata; nil for a registration.
  var documentURL: String?

  /// Chooses what the daemon can do and the provider offers.
  ///
  /// - Parameter key: The private key that the provider's `client_credential` holds; nil if the
  ///   setting is absent.
  /// - Throws: `invalidParams` with a sentence that names the setting, if the provider offers no
  ///   method of client authentication that the daemon can use.
  package init(
    _ provider: Provider<OIDCSettings>, _ metadata: OIDCMetadata, key: ClientKey?
  ) throws(UsherError) {
    let auth = try Self.auth(provider, offered: metadata.clientAuthMethods, hasKey: key != nil)
    self.init(
      provider, metadata, auth: auth, key: key, keys: [key?.publicJWK].compactMap(\.self))
  }

  /// Describes the daemon for a document that the operator publishes at the client id
  /// (draft-ietf-oauth-client-id-metadata-document). The provider can share no secret with such a
  /// client.
  ///
  /// - Parameters:
  ///   - signs: Whether the client authenticates itself by one of the keys; else it is public.
  ///   - keys: The public keys of the client.
  package init(
    document provider: Provider<OIDCSettings>, _ metadata: OIDCMetadata, signs: Bool,
    keys: [JSONValue]
  ) {
    self.init(provider, metadata, auth: signs ? .privateKeyJWT : .none, key: nil, keys: keys)
    documentURL = provider.settings.clientID
  }

  private init(
    _ provider: Provider<OIDCSettings>, _ metadata: OIDCMetadata, auth: OIDCClientAuth,
    key: ClientKey?, keys: [JSONValue]
  ) {
    let settings = provider.settings
    self.auth = auth
    self.keys = keys
    permitsOtherAuth = settings.clientAuth == .auto
    redirectURIs = [settings.redirect.registeredURI]
    profile = settings.profile
    let hasDeviceGrant = metadata.deviceAuthorizationEndpoint != nil && !profile.isFAPI2
    let deviceGrant = hasDeviceGrant ? "urn:ietf:params:oauth:grant-type:device_code" : nil
    let clientGrant = settings.clientCredentialsGrant && auth != .none ? "client_credentials" : nil
    grantTypes =
      ["authorization_code", "refresh_token"] + [deviceGrant, clientGrant].compactMap(\.self)
    scope = metadata.known(in: settings.scopes.joined(separator: " "))
    protection = Self.protection(settings, metadata, key: key)
  }

  /// Returns the members that make the provider use other algorithms than RS256, the default of
  /// each (OpenID Connect Dynamic Client Registration §2, JARM §3), and bind all tokens to keys
  /// (RFC 9449 §5.2).
  private static func protection(
    _ settings: OIDCSettings, _ metadata: OIDCMetadata, key: ClientKey?
  ) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    let configured = settings.protection.idTokenSigning
    members["id_token_signed_response_alg"] =
      (configured ?? preferred(.idToken, settings, metadata)).map { .string($0.rawValue) }
    if settings.responseMode.isSigned {
      members["authorization_signed_response_alg"] =
        preferred(.authorizationResponse, settings, metadata).map { .string($0.rawValue) }
    }
    if settings.dpop { members["dpop_bound_access_tokens"] = true }
    guard settings.profile.isFAPI2 else { return members }
    members["require_pushed_authorization_requests"] = true
    if let key {
      let algorithm = JSONValue.string(key.algorithm(accepted: settings.profile.accepted(nil)))
      members["token_endpoint_auth_signing_alg"] = algorithm
      if settings.profile.signsMessages { members["request_object_signing_alg"] = algorithm }
    }
    return members
  }

  /// Returns the algorithm with which the provider should sign; nil if it is RS256, the default.
  private static func preferred(
    _ kind: SignedTokenKind, _ settings: OIDCSettings, _ metadata: OIDCMetadata
  ) -> SigningAlgorithm? {
    let accepted = TokenProtection(of: kind, metadata, settings).algorithms
    guard !accepted.contains(.rs256) else { return nil }
    return ([.es256, .ps256, .edDSA] + SigningAlgorithm.allCases).first(where: accepted.contains)
  }

  /// Chooses the method of client authentication. A secret of this installation is preferred to
  /// none, because it protects the refresh tokens (RFC 8252 §8.5).
  private static func auth(
    _ provider: Provider<OIDCSettings>, offered: [String]?, hasKey: Bool
  ) throws(UsherError) -> OIDCClientAuth {
    // RFC 8414 §2: the method of a provider that lists none.
    let offered = offered ?? ["client_secret_basic"]
    let configured = provider.settings.clientAuth
    if configured == .privateKeyJWT, !hasKey {
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) has client_auth \"private_key_jwt\" but no client_credential, "
          + "which names the key", field: "provider")
    }
    if configured.usesCertificate {
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) has client_auth \"\(configured.rawValue)\", and usherd registers "
          + "no clients with certificates: register it at the provider yourself and set client_id",
        field: "provider")
    }
    let automatic: [OIDCClientAuth] =
      hasKey ? [.privateKeyJWT] : [.basic, .post, .clientSecretJWT, .none]
    let choices = configured == .auto ? automatic : [configured]
    guard let choice = choices.first(where: { offered.contains($0.registeredName) }) else {
      let names = choices.map(\.registeredName).joined(separator: ", ")
      let others = ProviderText.clean(offered.joined(separator: ", "))
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) offers only these methods of client authentication: \(others); "
          + "its client_auth and client_credential permit \(names)", field: "provider")
    }
    return choice
  }

  /// The members of the registration request or of the document.
  package var members: [String: JSONValue] {
    var members: [String: JSONValue] = [
      "client_name": "usherd", "application_type": "native", "response_types": ["code"],
      "redirect_uris": .array(redirectURIs.map { .string($0) }),
      "grant_types": .array(grantTypes.map { .string($0) }),
      "token_endpoint_auth_method": .string(auth.registeredName),
    ]
    if !scope.isEmpty { members["scope"] = .string(scope) }
    if !keys.isEmpty { members["jwks"] = ["keys": .array(keys)] }
    if let documentURL { members["client_id"] = .string(documentURL) }
    return members.merging(protection) { own, _ in own }
  }
}

extension Redirect {
  /// The URI to register. A provider ignores the port of a loopback address (RFC 8252 §7.3), which
  /// is chosen for each sign-in.
  fileprivate var registeredURI: String {
    switch self {
    case .loopback: "http://127.0.0.1/callback"
    case .localhost: "http://localhost/callback"
    case .anyPort(let portless): portless.text
    case .fixed(let fixed): fixed.text
    }
  }
}

extension OIDCClientAuth {
  /// The name of the method in metadata (OIDC Core §9). That of `auto` stands for no method.
  package var registeredName: String {
    switch self {
    case .basic: "client_secret_basic"
    case .post: "client_secret_post"
    case .auto, .clientSecretJWT, .privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth, .none:
      rawValue
    }
  }

  /// The method with this name in metadata; nil if the daemon does not know it.
  init?(registeredName name: String) {
    let known: [OIDCClientAuth] = [.basic, .post, .clientSecretJWT, .privateKeyJWT, .none]
    guard let method = known.first(where: { $0.registeredName == name }) else { return nil }
    self = method
  }

  /// Whether the client needs a secret that the provider issues.
  var needsSecret: Bool {
    switch self {
    case .basic, .post, .clientSecretJWT: true
    case .auto, .privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth, .none: false
    }
  }
}
