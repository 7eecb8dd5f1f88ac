/// The settings of a provider of type `oidc`: OpenID Connect with discovery.
package struct OIDCSettings: SettingsSection {
  /// The issuer identifier (OIDC Core §2). The claim `iss` of an ID token must equal it character
  /// by character.
  package var issuer: ProviderURL
  /// The client id that the provider gave the operator, or the daemon when it registered itself;
  /// empty if there is none yet.
  package var clientID: String
  /// The name of the client secret in the credential store; nil means a public client.
  package var clientCredential: String?
  /// The path of the file with the assertion by which the client authenticates itself (RFC 7523
  /// §2.2), which another program writes; nil means that there is none.
  package var clientAssertionFile: String?
  package var clientAuth = OIDCClientAuth.auto
  /// Whom a signed assertion of the client is for.
  package var assertionAudience = OIDCAssertionAudience.issuer
  /// How the provider protects ID tokens and userinfo answers.
  package var protection = OIDCProtectionSettings()
  package var scopes = ["openid", "profile", "offline_access"]
  package var redirect = Redirect.loopback
  /// How the provider returns the answer to an authorization request.
  package var responseMode = OIDCResponseMode.query
  /// Whether the daemon pushes authorization requests to the provider (RFC 9126).
  package var pushedRequests = OIDCPushedRequests.auto
  /// Whether the daemon signs authorization requests with the client's private key (RFC 9101).
  package var signedRequests = OIDCSignedRequests.auto
  /// Whether the provider must bind tokens to a key of the daemon (DPoP, RFC 9449), so that a
  /// stolen token is useless. A program then needs a proof for each of its requests.
  package var dpop = false
  /// The security profile that the daemon and the provider must comply with.
  package var profile = OIDCProfile.none
  /// The endpoints to use in place of those in the provider's metadata.
  package var endpoints = OIDCEndpoints()
  /// Whether the provider's metadata may name hosts of a private network although the issuer's host
  /// is public.
  package var allowPrivateEndpoints = false
  /// Whether programs may get tokens for the client itself, by its own credential (RFC 6749 §4.4).
  /// Such a token may have more power than any user has.
  package var clientCredentialsGrant = false
  /// How the daemon gets tokens by assertions that it signs (RFC 7523 §2.1).
  package var jwtBearer = OIDCJWTBearer()
  /// How the daemon gets tokens for a person of another provider.
  package var identityAssertion = OIDCIdentityAssertion()
  /// How the provider is asked for a token for an audience; nil: it issues tokens for one audience
  /// only.
  package var audienceParameter: OIDCAudienceParameter?
  /// Whether a token for an audience is got by exchanging the account's access token (RFC 8693)
  /// instead of by a refresh. A sign-in then names no audiences.
  package var tokenExchange = false
  /// The audiences that a sign-in names if the caller names none.
  package var audiences: [String] = []
  /// The `audience` parameter, which some providers require; nil means that it is not sent.
  package var audience: String?
  /// Additional parameters of the authorization request.
  package var extraAuthorize: [String: String] = [:]
  /// The maximum difference in seconds between the provider's clock and the local clock.
  package var clockSkewSeconds = 60
  /// Whether a refresh may request a part of the granted scope. It may be true only if the provider
  /// never limits the new refresh token to that part, which RFC 6749 §6 permits. Otherwise all
  /// other programs would lose the rest of the scope.
  package var narrowRefresh = false
  /// Whether the daemon revokes a refresh token that a new sign-in replaces. RFC 7009 §2.1 lets a
  /// provider end the whole grant with one token, including the new sign-in, so the operator must
  /// know that the provider does not do that.
  package var revokeReplaced = false
  /// Error codes of the token endpoint that mean that a code or refresh token is no longer valid,
  /// in addition to those of RFC 6749.
  package var grantEndedErrors: [String] = []
  /// Whether the provider names its grants, so that a sign-in extends the account's grant, and the
  /// grant is deleted with the account (Grant Management for OAuth 2.0).
  package var grantManagement = false
  /// The body format of token requests. It is not a setting: each provider type has its own.
  package var tokenRequest = OIDCTokenRequest.form
  /// Whether PKCE binds a code to its flow. It is not a setting: each provider type has its own
  /// value.
  package var pkce = true
  /// How the flows are run at a server without discovery and ID tokens; nil for an OpenID provider.
  /// It is not a setting: only providers of type `oauth2` have it.
  package var oauth2: OAuth2Rules?

  /// The maximum number of audiences that a sign-in names.
  package static let maxAudiences = 16

  package init(issuer: ProviderURL, clientID: String) {
    self.issuer = issuer
    self.clientID = clientID
  }

  package static var blank: OIDCSettings { OIDCSettings(issuer: .blank, clientID: "") }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&issuer, "issuer") { $0.hasQuery ? "must have no query" : nil }
    var knownID = clientID.isEmpty ? nil : clientID
    table.setting(&knownID, "client_id") { $0.visibleViolation(upTo: 1024) }
    clientID = knownID ?? ""
    // A stored flow has the credential of the registration with which it began.
    table.setting(&clientCredential, "client_credential") {
      table.isStored ? $0.credentialNameViolation : $0.credentialViolation
    }
    table.setting(&clientAssertionFile, "client_assertion_file", violation: \.pathViolation)
    table.setting(&clientAuth, "client_auth")
    table.setting(&assertionAudience, "client_assertion_audience")
    protection.bind(
      table,
      hasSecret: table.isStored || clientCredential != nil && clientAuth != .privateKeyJWT)
    table.setting(&scopes, "scopes", violation: Self.violation(scopes:))
    table.setting(&redirect, "redirect")
    table.setting(&responseMode, "response_mode")
    table.setting(&pushedRequests, "pushed_requests")
    table.setting(&signedRequests, "signed_requests")
    table.setting(&dpop, "dpop")
    table.setting(&profile, "profile")
    table.setting(&allowPrivateEndpoints, "allow_private_endpoints")
    table.setting(&clientCredentialsGrant, "client_credentials_grant")
    table.setting(&audienceParameter, "audience_parameter")
    table.setting(&tokenExchange, "token_exchange")
    table.setting(&audiences, "audiences") { [audienceParameter] audiences in
      guard !audiences.isEmpty else { return nil }
      guard let audienceParameter else { return "needs audience_parameter" }
      guard audiences.count <= Self.maxAudiences else {
        return "must be at most \(Self.maxAudiences)"
      }
      return audiences.lazy.compactMap(audienceParameter.violation).first
    }
    table.setting(&audience, "audience") { $0.visibleViolation(upTo: 1024) }
    table.setting(&clockSkewSeconds, "clock_skew_seconds", 0...300)
    table.setting(&narrowRefresh, "narrow_refresh")
    table.setting(&revokeReplaced, "revoke_replaced")
    table.setting(
      &grantEndedErrors, "grant_ended_errors", violation: OAuth2Settings.violation(names:))
    table.setting(&grantManagement, "grant_management")
    table.table(&jwtBearer, "jwt_bearer")
    table.table(&identityAssertion, "identity_assertion")
    table.table(&endpoints, "endpoints")
    table.setting(&extraAuthorize, "extra_authorize", violation: Self.violation(extra:))
    // A provider may have registered another client than the file describes, such as a public one.
    // A stored flow must be read all the same.
    if !table.isStored { checkTogether(table) }
  }

  /// Checks the settings that depend on each other.
  private func checkTogether(_ table: SettingsTable) {
    checkClient(table)
    profile.check(self, in: table)
    if audienceParameter == .resource, extraAuthorize["resource"] != nil {
      table.reportProblem("extra_authorize", "resource is set by audience_parameter")
    }
    if signedRequests == .always, clientCredential == nil {
      table.reportProblem("signed_requests", "needs client_credential, the name of a private key")
    }
    if tokenExchange, audienceParameter == nil {
      table.reportProblem("token_exchange", "needs audience_parameter")
    }
    if tokenExchange, !audiences.isEmpty {
      table.reportProblem("audiences", "must be empty, because token_exchange needs no audiences")
    }
  }

  /// Checks the settings about the client together. Without `client_id` the daemon may register
  /// itself, and the provider then issues the secret.
  private func checkClient(_ table: SettingsTable) {
    let hasCredential = clientCredential != nil || clientAssertionFile != nil
    checkFiles(table)
    let maySecretFollow = clientID.isEmpty && clientAuth != .privateKeyJWT && !hasCredential
    if !maySecretFollow, let message = clientAuth.violation(hasCredential: hasCredential) {
      table.reportProblem("client_auth", message)
    }
    if clientID.isEmpty, clientAuth.usesCertificate, !table.isStored {
      table.reportProblem("client_auth", "needs client_id: usherd registers no such client")
    }
    if clientCredentialsGrant, !maySecretFollow, !hasCredential {
      table.reportProblem("client_credentials_grant", "needs client_credential")
    }
  }

  /// Returns why the daemon must not call a URL from the provider's metadata; nil if it may.
  ///
  /// The daemon sends credentials and tokens to the URL, and it can reach local networks and
  /// services on this machine. The metadata may therefore name public hosts, and hosts that can be
  /// reached from the same networks as the issuer's.
  package func flaw(ofDiscovered url: ProviderURL) -> String? {
    if issuer.isSecure, !url.isSecure { return "is not https, but the issuer is" }
    let remedy = "if this is intended, set it in [provider.endpoints]"
    switch url.reach {
    case .global: return nil
    case issuer.reach where url.reach != .special: return nil
    case .privateUse:
      return allowPrivateEndpoints
        ? nil
        : "names \(url.host), a host of a private network, but the issuer is not one: \(remedy), "
          + "or set allow_private_endpoints"
    case .loopback: return "names \(url.host), which is this machine: \(remedy)"
    case .special: return "names \(url.host), which is not a valid address of a provider: \(remedy)"
    }
  }

  /// Returns what is wrong with the scopes (RFC 6749 §3.3; OIDC Core §3.1.2.1); nil if they are
  /// valid.
  static func violation(scopes: [String]) -> String? {
    violation(words: scopes) ?? (scopes.contains("openid") ? nil : "must contain \"openid\"")
  }

  /// Returns what is wrong with the spelling of the scopes (RFC 6749 §3.3); nil if nothing is.
  static func violation(words: [String]) -> String? {
    let isToken: (String) -> Bool = { scope in
      scope.consists(upTo: 256) { $0.isVisible && !$0.isOne(of: "\"\\") }
    }
    return words.allSatisfy(isToken)
      ? nil : "each scope must be printable ASCII without spaces, quotes and backslashes"
  }

  /// The parameters that `extra_authorize` must not contain: the flow itself sends them, or they
  /// would change the meaning of the request.
  private static let reserved: Set = [
    "audience", "client_assertion", "client_assertion_type", "client_id", "client_secret", "code",
    "code_challenge", "code_challenge_method", "code_verifier", "dpop_jkt", "grant_type", "nonce",
    "redirect_uri", "request", "request_uri", "response_mode", "response_type",
    "scope", "state",
  ]

  static func violation(extra: [String: String]) -> String? {
    if let name = extra.keys.sorted().first(where: reserved.contains) {
      return "\(name) is set by usherd itself"
    }
    // The daemon checks the ID token against it.
    if let age = extra["max_age"], (Int(age) ?? -1) < 0 {
      return "max_age must be a number of seconds"
    }
    let areValid = extra.allSatisfy { name, value in
      name.consists(upTo: 128, of: \.isVisible)
        && value.utf8.count <= 2048 && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
    return areValid ? nil : "names must be printable ASCII, values without control characters"
  }
}

/// The body format of requests to the token endpoint.
package enum OIDCTokenRequest: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  /// `application/x-www-form-urlencoded` (RFC 6749 §4.1.3).
  case form
  case json
}

/// How the daemon authenticates itself as the client at the token endpoint (RFC 6749 §2.3.1, OIDC
/// Core §9).
package enum OIDCClientAuth: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  /// `none` without a credential, and `private_key_jwt` with a private key in PEM. With a secret
  /// the first of `basic`, `post` and `client_secret_jwt` that the provider's metadata offers; if
  /// the provider refuses it, the next one.
  case auto
  case basic
  case post
  /// An assertion that the client secret authenticates.
  case clientSecretJWT = "client_secret_jwt"
  /// An assertion that is signed with the private key in the credential.
  case privateKeyJWT = "private_key_jwt"
  /// The certificate in the credential, which an authority that the provider trusts has issued (RFC
  /// 8705 §2.1).
  case tlsClientAuth = "tls_client_auth"
  /// The certificate in the credential, which itself is registered with the provider (RFC 8705
  /// §2.2).
  case selfSignedTLSClientAuth = "self_signed_tls_client_auth"
  case none

  /// Whether the client authenticates itself by a certificate, in the TLS handshake (RFC 8705).
  package var usesCertificate: Bool {
    switch self {
    case .tlsClientAuth, .selfSignedTLSClientAuth: true
    case .auto, .basic, .post, .clientSecretJWT, .privateKeyJWT, .none: false
    }
  }

  func violation(hasCredential: Bool) -> String? {
    switch self {
    case .auto: nil
    case .basic, .post, .clientSecretJWT, .privateKeyJWT, .tlsClientAuth,
      .selfSignedTLSClientAuth:
      hasCredential ? nil : "needs client_credential"
    case .none: hasCredential ? "must not be \"none\" if client_credential is set" : nil
    }
  }
}

/// The parameter by which a provider is asked for a token for an audience.
package enum OIDCAudienceParameter: String, TextSetting, Codable, CaseIterable, Equatable, Sendable
{
  /// `resource`, a URI (RFC 8707).
  case resource
  /// `audience`, a name, as Auth0 has it.
  case audience

  /// Returns what is wrong with an audience for this parameter; nil if nothing is.
  package func violation(_ audience: String) -> String? {
    guard audience.isAudience else { return "must be printable ASCII without spaces" }
    // RFC 8707 §2: an absolute URI without a fragment.
    let isURI =
      audience.firstIndex(of: ":").map { $0 > audience.startIndex } == true
      && !audience.contains("#")
    return self == .audience || isURI ? nil : "must be an absolute URI without a fragment"
  }
}

/// Whom a client's signed assertion is for: its claim `aud`.
package enum OIDCAssertionAudience: String, TextSetting, Codable, CaseIterable, Equatable, Sendable
{
  /// The issuer identifier, which no other server can pretend to be (FAPI 2.0).
  case issuer
  /// The address of the token endpoint, which older servers demand (OIDC Core §9).
  case tokenEndpoint = "token_endpoint"
  /// The address of the endpoint that is called, which some servers demand at each of theirs.
  case endpoint
}

/// The section `[provider.endpoints]`. An endpoint that it does not name comes from the provider's
/// metadata.
package struct OIDCEndpoints: SettingsSection {
  package var authorization: ProviderURL?
  package var token: ProviderURL?
  package var userinfo: ProviderURL?
  package var revocation: ProviderURL?
  package var jwks: ProviderURL?
  package var deviceAuthorization: ProviderURL?
  package var pushedAuthorizationRequest: ProviderURL?
  package var registration: ProviderURL?
  package var endSession: ProviderURL?
  package var backchannelAuthentication: ProviderURL?

  package static var blank: OIDCEndpoints { OIDCEndpoints() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&authorization, "authorization")
    table.setting(&token, "token")
    table.setting(&userinfo, "userinfo")
    table.setting(&revocation, "revocation")
    table.setting(&jwks, "jwks")
    table.setting(&deviceAuthorization, "device_authorization")
    table.setting(&pushedAuthorizationRequest, "pushed_authorization_request")
    table.setting(&registration, "registration")
    table.setting(&endSession, "end_session")
    table.setting(&backchannelAuthentication, "backchannel_authentication")
  }
}

extension OIDCSettings: ProviderTypeSettings {
  package static let type = ProviderType.oidc

  package var variety: ProviderVariety { .oidc }
  package var tokenAddresses: [String] {
    [issuer.text] + [endpoints.token?.text].compactMap(\.self)
  }
  package var mayNarrowRefresh: Bool? { narrowRefresh }
  package var revokesReplaced: Bool { revokeReplaced }
  package var exchangesTokens: Bool { tokenExchange }
}
