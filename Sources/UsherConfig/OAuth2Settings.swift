/// The settings of a provider of type `oauth2`: an OAuth 2.0 server (RFC 6749) without discovery
/// and without ID tokens, such as GitHub. The userinfo endpoint identifies the user.
package struct OAuth2Settings: SettingsSection {
  /// The URL to which relative paths are appended.
  package var baseURL: ProviderURL
  /// The issuer identifier that the provider writes into redirects (RFC 9207); nil if it writes
  /// none.
  package var issuer: ProviderURL?
  package var clientID: String
  /// The name of the client secret in the credential store; nil means a public client.
  package var clientCredential: String?
  package var clientAuth = OIDCClientAuth.auto
  package var scopes: [String] = []
  /// What separates the scopes in requests.
  package var scopeSeparator = OAuth2ScopeSeparator.space
  package var redirect = Redirect.loopback
  /// Whether PKCE binds a code to its flow (RFC 7636). A server that does not know PKCE ignores it.
  package var pkce = true
  package var tokenRequest = OIDCTokenRequest.form
  /// The values of `token_type` that mean a bearer token, in any case.
  package var tokenTypes = ["bearer"]
  /// Error codes that end a grant, as ``OIDCSettings/grantEndedErrors``.
  package var grantEndedErrors: [String] = []
  package var revocationRequest = OAuth2RevocationRequest.standard
  /// Whether programs may get tokens for the client itself, as
  /// ``OIDCSettings/clientCredentialsGrant``.
  package var clientCredentialsGrant = false
  /// The `audience` parameter, which some providers require; nil means that it is not sent.
  package var audience: String?
  /// Whether a refresh may request a part of the granted scope, as ``OIDCSettings/narrowRefresh``.
  package var narrowRefresh = false
  /// Whether the daemon revokes a refresh token that a new sign-in replaces, as
  /// ``OIDCSettings/revokeReplaced``.
  package var revokeReplaced = false
  package var paths = OAuth2Paths()
  package var userinfo = OAuth2Userinfo()
  /// Additional parameters of the authorization request.
  package var extraAuthorize: [String: String] = [:]

  package init(baseURL: ProviderURL, clientID: String) {
    self.baseURL = baseURL
    self.clientID = clientID
  }

  package static var blank: OAuth2Settings { OAuth2Settings(baseURL: .blank, clientID: "") }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&baseURL, "base_url", violation: \.baseViolation)
    table.setting(&issuer, "issuer") { $0.hasQuery ? "must have no query" : nil }
    table.required(&clientID, "client_id") { $0.visibleViolation(upTo: 1024) }
    table.setting(&clientCredential, "client_credential", violation: \.credentialViolation)
    table.setting(&clientAuth, "client_auth", violation: Self.violation(clientAuth:))
    table.setting(&scopes, "scopes", violation: OIDCSettings.violation(words:))
    table.setting(&scopeSeparator, "scope_separator")
    table.setting(&redirect, "redirect")
    table.setting(&pkce, "pkce")
    table.setting(&tokenRequest, "token_request")
    table.setting(&tokenTypes, "token_types", violation: Self.violation(names:))
    table.setting(&grantEndedErrors, "grant_ended_errors", violation: Self.violation(names:))
    table.setting(&revocationRequest, "revocation_request")
    table.setting(&clientCredentialsGrant, "client_credentials_grant")
    table.setting(&audience, "audience") { $0.visibleViolation(upTo: 1024) }
    table.setting(&narrowRefresh, "narrow_refresh")
    table.setting(&revokeReplaced, "revoke_replaced")
    table.table(&paths, "paths", isRequired: true)
    table.table(&userinfo, "userinfo")
    table.setting(&extraAuthorize, "extra_authorize", violation: OIDCSettings.violation(extra:))
    if let message = clientAuth.violation(hasCredential: clientCredential != nil) {
      table.reportProblem("client_auth", message)
    }
    if clientCredentialsGrant, clientCredential == nil {
      table.reportProblem("client_credentials_grant", "needs client_credential")
    }
    if revocationRequest == .github, clientAuth.usesCertificate {
      table.reportProblem("revocation_request", "must not be github without a client secret")
    }
    if scopeSeparator == .comma, scopes.contains(where: { $0.contains(",") }) {
      table.reportProblem("scopes", "must have no comma, because commas separate them")
    }
  }

  /// A signed assertion names the server's issuer identifier, which such a server may not have.
  private static func violation(clientAuth: OIDCClientAuth) -> String? {
    switch clientAuth {
    case .auto, .basic, .post, .tlsClientAuth, .selfSignedTLSClientAuth, .none: nil
    case .clientSecretJWT, .privateKeyJWT:
      "must be auto, basic, post, tls_client_auth, self_signed_tls_client_auth or none at this type"
    }
  }

  static func violation(names: [String]) -> String? {
    names.allSatisfy { $0.consists(upTo: 128, of: \.isVisible) }
      ? nil : "each must be printable ASCII without spaces"
  }

  /// The settings as those of an OpenID provider, because the flows are the same.
  package var oidc: OIDCSettings {
    var settings = OIDCSettings(issuer: issuer ?? baseURL, clientID: clientID)
    settings.clientCredential = clientCredential
    settings.clientAuth = clientAuth
    settings.scopes = scopes
    settings.redirect = redirect
    settings.pkce = pkce
    settings.tokenRequest = tokenRequest
    settings.pushedRequests = .never
    settings.clientCredentialsGrant = clientCredentialsGrant
    settings.audience = audience
    settings.narrowRefresh = narrowRefresh
    settings.revokeReplaced = revokeReplaced
    settings.grantEndedErrors = grantEndedErrors
    settings.extraAuthorize = extraAuthorize
    settings.oauth2 = rules
    return settings
  }

  private var rules: OAuth2Rules {
    OAuth2Rules(
      namesIssuer: issuer != nil, scopeSeparator: scopeSeparator,
      tokenTypes: tokenTypes.map { $0.lowercased() },
      revocationRequest: revocationRequest, userinfo: userinfo,
      authorizationEndpoint: paths.authorization.url(under: baseURL),
      tokenEndpoint: paths.token.url(under: baseURL),
      userinfoEndpoint: paths.userinfo.url(under: baseURL),
      deviceAuthorizationEndpoint: paths.deviceAuthorization?.url(under: baseURL),
      revocationEndpoint: paths.revocation?.url(under: baseURL, "client_id", clientID))
  }
}

/// What separates the scopes in a request to an `oauth2` provider.
package enum OAuth2ScopeSeparator: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case space
  case comma
}

/// The form of the request with which an `oauth2` provider revokes a token.
package enum OAuth2RevocationRequest: String, TextSetting, Codable, CaseIterable, Equatable,
  Sendable
{
  /// A form with the token, authenticated as the client (RFC 7009 §2.1).
  case standard
  /// `DELETE` with the access token as JSON, authenticated as the client by Basic. It needs a
  /// client secret.
  case github
  /// A request that the access token itself authenticates.
  case slack
}

/// The paths of `[provider.paths]`: relative to `base_url`, or absolute URLs.
package struct OAuth2Paths: SettingsSection {
  package var authorization = ProviderPath("/authorize")
  package var token = ProviderPath("/token")
  package var userinfo = ProviderPath("/userinfo")
  /// The device authorization endpoint (RFC 8628); nil if the provider has none.
  package var deviceAuthorization: ProviderPath?
  /// The revocation endpoint; nil if the provider has none. It may contain `{client_id}`.
  package var revocation: ProviderPath?

  package static var blank: OAuth2Paths { OAuth2Paths() }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&authorization, "authorization", violation: \.plainViolation)
    table.required(&token, "token", violation: \.plainViolation)
    table.required(&userinfo, "userinfo", violation: \.plainViolation)
    table.setting(&deviceAuthorization, "device_authorization", violation: \.plainViolation)
    table.setting(&revocation, "revocation") { $0.violation(placeholder: "client_id") }
  }
}

/// The members of the userinfo endpoint's reply that identify and describe the user. A name with
/// dots leads through nested objects, as `data.user.id`.
package struct OAuth2Userinfo: SettingsSection {
  /// The members that together identify the user: texts or integers that never change and are never
  /// given to another user.
  package var subject = ["sub"]
  package var name = "name"
  package var preferredUsername = "preferred_username"
  package var email = "email"
  package var picture = "picture"

  package static var blank: OAuth2Userinfo { OAuth2Userinfo() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&subject, "subject") { members in
      members.isEmpty
        ? "must have at least one member"
        : members.lazy.compactMap { $0.visibleViolation(upTo: 256) }.first
    }
    table.setting(&name, "name") { $0.visibleViolation(upTo: 256) }
    table.setting(&preferredUsername, "preferred_username") { $0.visibleViolation(upTo: 256) }
    table.setting(&email, "email") { $0.visibleViolation(upTo: 256) }
    table.setting(&picture, "picture") { $0.visibleViolation(upTo: 256) }
  }

  /// The other members by the standard claims that they stand for (OIDC Core §5.1).
  package var members: [(claim: String, member: String)] {
    [
      ("name", name), ("preferred_username", preferredUsername),
      ("email", email), ("picture", picture),
    ]
  }
}

/// How the flows of OpenID Connect are run at a server that has no discovery and no ID tokens.
package struct OAuth2Rules: Equatable, Sendable {
  /// Whether redirects contain the issuer identifier.
  package var namesIssuer = false
  package var scopeSeparator = OAuth2ScopeSeparator.space
  /// The values of `token_type` that mean a bearer token, in lower case.
  package var tokenTypes = ["bearer"]
  package var revocationRequest = OAuth2RevocationRequest.standard
  package var userinfo = OAuth2Userinfo()
  package var authorizationEndpoint: String
  package var tokenEndpoint: String
  package var userinfoEndpoint: String
  package var deviceAuthorizationEndpoint: String?
  package var revocationEndpoint: String?
}

extension OAuth2Settings: ProviderTypeSettings {
  package static let type = ProviderType.oauth2

  package var variety: ProviderVariety { .oauth2 }
  package var tokenAddresses: [String] {
    [baseURL.text] + [paths.token, paths.userinfo, paths.revocation].compactMap(\.self).wholeURLs
  }
  package var mayNarrowRefresh: Bool? { narrowRefresh }
  package var revokesReplaced: Bool { revokeReplaced }

  /// Returns the settings as those of an OpenID provider, because the flows are the same.
  package func view<Settings: ProviderTypeSettings>(as type: Settings.Type) -> Settings? {
    self as? Settings ?? oidc as? Settings
  }
}
