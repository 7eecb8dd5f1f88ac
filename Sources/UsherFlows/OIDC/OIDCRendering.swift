import JSONRPC
package import UsherConfig
package import UsherCore

extension OIDCCall {
  package func render(_ context: RenderContext<OIDCSettings>) throws(UsherError) -> HTTPRequest {
    var request = try renderWithoutCertificate(context)
    guard presentsCertificate, context.provider.settings.clientAuth.usesCertificate else {
      return request
    }
    guard request.url.hasPrefix("https://") else {
      throw UsherError(
        .providerProtocolError,
        "the \(name) endpoint of provider \(context.provider.name) is not https, so the client's "
          + "certificate cannot be presented; set it in endpoints")
    }
    request.certificate = try context.clientCertificate()
    return request
  }

  private func renderWithoutCertificate(
    _ context: RenderContext<OIDCSettings>
  ) throws(UsherError) -> HTTPRequest {
    switch self {
    case .discovery(let url), .jwks(let url):
      return HTTPRequest(method: .get, url: url, headers: [.acceptJSON])
    case .userinfo(let token, let metadata):
      return HTTPRequest(
        method: .get, url: try metadata.userinfoEndpoint.orMissing("userinfo"),
        headers: [.acceptJSON, .bearer(token)])
    case .revoke(let revocation, let metadata):
      return try Self.render(revocation, metadata, context)
    case .bound(let call, let key): return try call.render(boundTo: key, context)
    case .jwtBearer(let request, let metadata):
      return try request.render(metadata, context)
    case .exchange, .refresh, .clientCredentials, .tokenExchange, .devicePoll,
      .deviceAuthorization, .pushAuthorization, .backchannelAuthentication, .backchannelPoll:
      return try renderForm(context)
    }
  }

  private func renderForm(_ context: RenderContext<OIDCSettings>) throws(UsherError) -> HTTPRequest
  {
    var fields: [(name: String, value: String)]
    let endpoint: String
    let metadata: OIDCMetadata
    switch self {
    case .exchange(let exchange, let provider):
      (metadata, endpoint) = (provider, try provider.tokenEndpoint.orMissing("token"))
      fields = [
        ("grant_type", "authorization_code"), ("code", exchange.code.revealed()),
        ("redirect_uri", exchange.redirectURI),
      ]
      if context.provider.settings.pkce {
        fields.append(("code_verifier", exchange.verifier.revealed()))
      }
    case .refresh(let token, let scope, let audience, let provider):
      (metadata, endpoint) = (provider, try provider.tokenEndpoint.orMissing("token"))
      fields =
        [("grant_type", "refresh_token"), ("refresh_token", token.revealed())]
        + (scope.map { [("scope", context.provider.settings.spelling(ofScope: $0))] } ?? [])
        + context.provider.settings.fields(forAudiences: [audience].compactMap(\.self))
    case .clientCredentials(let scope, let audience, let provider):
      (metadata, endpoint) = (provider, try provider.tokenEndpoint.orMissing("token"))
      let settings = context.provider.settings
      fields =
        [("grant_type", "client_credentials")]
        + (scope.isEmpty ? [] : [("scope", settings.spelling(ofScope: scope))])
        + (audience.map { settings.fields(forAudiences: [$0]) }
          ?? settings.fields(forSignInWith: []))
    case .tokenExchange(let exchange, let provider):
      (metadata, endpoint) = (provider, try provider.tokenEndpoint.orMissing("token"))
      fields = exchange.fields(context.provider.settings)
    case .devicePoll(let code, let provider):
      (metadata, endpoint) = (provider, try provider.tokenEndpoint.orMissing("token"))
      fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("device_code", code.revealed()),
      ]
    case .deviceAuthorization(let scope, let audiences, let provider):
      metadata = provider
      endpoint = try metadata.deviceAuthorizationEndpoint.orMissing("device_authorization")
      let settings = context.provider.settings
      fields =
        (scope.isEmpty ? [] : [("scope", settings.spelling(ofScope: scope))])
        + OIDCAttempt.fields(settings.fields(forSignInWith: audiences))
    case .backchannelAuthentication(let request, let provider):
      metadata = provider
      endpoint = try metadata.backchannelAuthenticationEndpoint.orMissing(
        "backchannel_authentication")
      fields = request.fields(context.provider.settings)
    case .backchannelPoll(let requestID, let provider):
      (metadata, endpoint) = (provider, try provider.tokenEndpoint.orMissing("token"))
      fields = [
        ("grant_type", "urn:openid:params:grant-type:ciba"), ("auth_req_id", requestID.revealed()),
      ]
    case .pushAuthorization(let parameters, let provider):
      metadata = provider
      endpoint = try metadata.pushedAuthorizationRequestEndpoint.orMissing(
        "pushed_authorization_request")
      // The client's authentication adds `client_id` where it is needed.
      fields = OIDCAttempt.fields(
        parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
          .filter { $0.name != "client_id" })
    case .discovery, .jwks, .userinfo, .revoke, .jwtBearer, .bound:
      throw UsherError(
        .internalError, "a form body was requested for an OpenID call that has none or another")
    }
    let client = try ClientAuthentication(
      context, metadata.clientAuthTerms(context.provider, at: endpoint))
    // An authorization request names the client, however it authenticates itself (RFC 9126 §2.1).
    if case .pushAuthorization = self, !client.fields.contains(where: { $0.name == "client_id" }) {
      fields.append(("client_id", context.provider.settings.clientID))
    }
    switch context.provider.settings.tokenRequest {
    case .form: return .form(endpoint, fields + client.fields, headers: client.headers)
    case .json:
      let all = fields + client.fields
      let members = Dictionary(all) { first, _ in first }
      return .json(
        .post, endpoint, members.mapValues { .string($0) }, client.headers,
        hiding: HTTPRequest.secrets(in: all).map { Secret($0) })
    }
  }

  private static func render(
    _ revocation: Revocation, _ metadata: OIDCMetadata, _ context: RenderContext<OIDCSettings>
  ) throws(UsherError) -> HTTPRequest {
    let endpoint = try metadata.revocationEndpoint.orMissing("revocation")
    switch context.provider.settings.oauth2?.revocationRequest {
    case .github?: return try deletion(of: revocation.token, endpoint, context)
    case .slack?: return .form(endpoint, [], headers: [.bearer(revocation.token)])
    case .standard?, nil: break
    }
    let fields = [
      ("token", revocation.token.revealed()), ("token_type_hint", revocation.kind.rawValue),
    ]
    if let bearer = revocation.bearer {
      let client = ("client_id", context.provider.settings.clientID)
      return .form(endpoint, fields + [client], headers: [.bearer(bearer)])
    }
    var terms = metadata.clientAuthTerms(context.provider, at: endpoint)
    terms.methods = metadata.revocationAuthMethods ?? terms.methods
    let client = try ClientAuthentication(context, terms)
    return .form(endpoint, fields + client.fields, headers: client.headers)
  }
}

extension OIDCCall {
  /// Returns the request that deletes an access token at GitHub's API.
  private static func deletion(
    of token: Secret, _ endpoint: String, _ context: RenderContext<OIDCSettings>
  ) throws(UsherError) -> HTTPRequest {
    let secret = try context.requiredCredential()
    if let flaw = OIDCClientAuth.basic.flaw(of: secret) {
      throw UsherError(
        .internalError,
        "credential \(context.provider.config.credentialName ?? "") \(flaw)")
    }
    let header = ClientAuthentication.basic(context.provider.settings.clientID, secret)
    return .json(
      .delete, endpoint, ["access_token": .string(token.revealed())], [header], hiding: [token])
  }
}

extension OIDCCall.BackchannelRequest {
  /// The fields of the request (CIBA Core §7.1), without those of the client's authentication.
  fileprivate func fields(_ settings: OIDCSettings) -> [(name: String, value: String)] {
    [("scope", settings.spelling(ofScope: scope)), ("login_hint", loginHint)]
      + (bindingMessage.map { [("binding_message", $0)] } ?? [])
      + (acrValues.map { [("acr_values", $0)] } ?? [])
      + OIDCAttempt.fields(settings.fields(forSignInWith: audiences))
  }
}

extension RenderContext<OIDCSettings> {
  /// Returns the certificate in the client's credential.
  ///
  /// - Throws: A sentence that says why the credential cannot be used, and what to do.
  func clientCertificate() throws(UsherError) -> ClientCertificate {
    let name = provider.config.credentialName ?? ""
    let pem = try requiredCredential()
    let certificate: ClientCertificate
    do throws(InvalidValue) {
      certificate = try ClientCertificate(pem: pem, named: name, of: provider.name)
    } catch {
      throw UsherError(
        .internalError,
        "credential \(name) of provider \(provider.name) \(error.message); "
          + "run: usherctl credential set \(name)")
    }
    if let flaw = certificate.flaw(at: transition.now) {
      throw UsherError(.providerRejected, flaw)
    }
    return certificate
  }
}

extension OIDCCall.TokenExchange {
  /// The fields of the request, without those of the client's authentication.
  fileprivate func fields(_ settings: OIDCSettings) -> [(name: String, value: String)] {
    let (subjectType, requestedType, target) =
      if let assertion {
        (
          TokenRequest.idTokenType, TokenRequest.identityAssertionType,
          [("audience", audience)] + (assertion.resource.map { [("resource", $0)] } ?? [])
        )
      } else {
        (
          TokenRequest.accessTokenType, TokenRequest.accessTokenType,
          settings.fields(forAudiences: [audience])
        )
      }
    return [
      ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
      ("subject_token", subject.revealed()), ("subject_token_type", subjectType),
      ("requested_token_type", requestedType),
    ] + target
      + (scope.map { [("scope", settings.spelling(ofScope: $0))] } ?? [])
  }
}

extension OIDCCall.JWTBearer {
  static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

  /// Returns the request with an assertion (RFC 7523 §2.1). A public client whose key has signed it
  /// adds nothing: the assertion names its issuer (RFC 7521 §4.1).
  fileprivate func render(
    _ metadata: OIDCMetadata, _ context: RenderContext<OIDCSettings>
  ) throws(UsherError) -> HTTPRequest {
    let endpoint = try metadata.tokenEndpoint.orMissing("token")
    let settings = context.provider.settings
    let rules = settings.jwtBearer
    let spelled = scope.isEmpty ? nil : settings.spelling(ofScope: scope)
    var fields: [(name: String, value: String)] = [
      ("grant_type", Self.grantType),
      ("assertion", try assertion(metadata, context, scope: spelled).revealed()),
    ]
    if !rules.scopeInAssertion || identity != nil, let spelled { fields.append(("scope", spelled)) }
    fields +=
      audience.map { settings.fields(forAudiences: [$0]) } ?? settings.fields(forSignInWith: [])
    // The assertion of another issuer does not name the client.
    let isOwn = rules.assertionFile == nil && identity == nil
    // A security profile demands that each client authenticates itself.
    let needsClient =
      settings.clientCredential != nil || settings.clientAssertionFile != nil || !isOwn
      || settings.profile.isFAPI2
    guard needsClient else { return .form(endpoint, fields, headers: []) }
    let client = try ClientAuthentication(
      context, metadata.clientAuthTerms(context.provider, at: endpoint))
    return .form(endpoint, fields + client.fields, headers: client.headers)
  }

  /// Returns the assertion: that of the identity provider, the one in the configured file, or one
  /// that the daemon signs.
  private func assertion(
    _ metadata: OIDCMetadata, _ context: RenderContext<OIDCSettings>, scope: String?
  ) throws(UsherError) -> Secret {
    let settings = context.provider.settings
    let rules = settings.jwtBearer
    // The engine supplies it in place of an access token.
    if identity != nil { return try context.requiredAccessToken() }
    if let file = rules.assertionFile { return try context.assertion(inFile: file) }
    let assertion = ClientAssertion(
      issuer: rules.issuer ?? settings.clientID, subject: subject,
      audience: rules.audience ?? metadata.issuer, scope: rules.scopeInAssertion ? scope : nil,
      at: context.transition)
    let key = try context.credential(named: rules.keyCredential)
    let signed: Secret
    do throws(InvalidValue) {
      signed = try assertion.signed(
        by: key, profile: settings.profile, accepted: nil, keyID: rules.keyID)
    } catch {
      throw UsherError(
        .internalError, "credential \(rules.keyCredential ?? "") \(error.message)")
    }
    return signed
  }
}

extension OIDCMetadata {
  /// - Parameter endpoint: The address of the endpoint at which the client authenticates itself.
  fileprivate func clientAuthTerms(
    _ provider: Provider<OIDCSettings>, at endpoint: String
  ) -> ClientAuthentication.Terms {
    let audience =
      switch provider.settings.assertionAudience {
      case .issuer: issuer
      case .tokenEndpoint: tokenEndpoint ?? issuer
      case .endpoint: endpoint
      }
    return .init(
      methods: clientAuthMethods, algorithms: clientAuthAlgorithms, audience: audience)
  }
}

extension String? {
  fileprivate func orMissing(_ endpoint: String) throws(UsherError) -> String {
    guard let self else {
      throw UsherError(
        .providerProtocolError, "the provider names no \(endpoint) endpoint; set it in endpoints")
    }
    return self
  }
}
