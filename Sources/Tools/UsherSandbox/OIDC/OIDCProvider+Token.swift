extension OIDCBackend {
  /// Handles the token endpoint (RFC 6749 §3.2).
  func token(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let form = try call.postedForm()
      // The client's authentication is optional beside an assertion (RFC 7521 §4.1).
      if form["grant_type"] == Self.jwtBearerGrant {
        return try await answerAssertion(form, call)
      }
      let client = try await authenticate(call, form)
      let key = try provenKey(call)
      guard let grantType = form["grant_type"] else {
        throw OAuthError("invalid_request", "grant_type is missing")
      }
      switch grantType {
      case "authorization_code":
        let code = try form.required("code")
        return try await reply(redeem(code, form, client, key), call, answeringRequest: code)
      case "refresh_token":
        let token = try form.required("refresh_token")
        guard mayUse(token, call) else {
          throw OAuthError("invalid_grant", "the refresh token is bound to another certificate")
        }
        let tokens = try ledger.tokens.refresh(
          token, client: client,
          scope: try form["scope"].map(Scope.parse), audience: try form.oneAudience(), key: key,
          now: context.clock.now())
        return try await reply(
          tokens, call, withIDToken: settings.idTokenOnRefresh)
      case "client_credentials":
        guard client.secret != nil || client.certificate != nil else {
          throw OAuthError("unauthorized_client", "a public client cannot act for itself")
        }
        let tokens = ledger.tokens.openForClient(
          client, scope: try Scope.parse(form["scope"]), audience: try form.oneAudience(),
          key: key, now: context.clock.now())
        return try await reply(tokens, call, withIDToken: false)
      case Self.tokenExchangeGrant:
        return try await exchangeToken(form, client, key: key, call)
      case "urn:ietf:params:oauth:grant-type:device_code":
        let tokens = try ledger.pollDevice(
          try form.required("device_code"), client: client, key: key, now: context.clock.now())
        return try await reply(tokens, call)
      case Self.backchannelGrant:
        let tokens = try ledger.pollDevice(
          try form.required("auth_req_id"), client: client, isBackchannel: true,
          key: key, now: context.clock.now())
        return try await reply(tokens, call)
      default:
        throw OAuthError("unsupported_grant_type", "there is no such grant_type")
      }
    }
  }

  private func redeem(
    _ code: String, _ form: Form, _ client: Client, _ key: String?
  ) throws(OAuthError) -> IssuedTokens {
    let redirectURI = try form.required("redirect_uri")
    let verifier = try form.required("code_verifier")
    guard PKCEVerification.isVerifier(verifier) else {
      throw OAuthError("invalid_request", "code_verifier must be 43 to 128 unreserved characters")
    }
    return try ledger.tokens.redeemCode(
      code, client: client, redirectURI: redirectURI, verifier: verifier, key: key,
      now: context.clock.now())
  }

  /// Returns the keys of a client.
  func recipient(_ clientID: String) -> TokenRecipient {
    TokenRecipient(secret: clients.named(clientID)?.secret, keySet: keySet(of: clientID))
  }

  /// Returns the successful response (RFC 6749 §5.1), with the overrides from the settings.
  ///
  /// - Parameters:
  ///   - code: The code of the authorization request; nil if there was none.
  ///   - more: Further members of the response.
  func reply(
    _ tokens: IssuedTokens, _ call: EndpointCall, answeringRequest code: String? = nil,
    withIDToken: Bool = true, more: [String: JSON] = [:]
  ) async throws -> Reply {
    let settings = settings
    bind(tokens, call)
    var members: [String: JSON] = [
      "access_token": .string(tokens.accessToken),
      "token_type": tokens.authorization.keyThumbprint == nil ? "Bearer" : "DPoP",
      "expires_in": .integer(tokens.expiresIn),
      "scope": .string(tokens.scope.joined(separator: " ")),
    ]
    members.merge(more) { $1 }
    members["grant_id"] = tokens.authorization.grantID.map { .string($0) }
    members["refresh_token"] = tokens.refreshToken.map { .string($0) }
    if withIDToken, settings.idToken.omit != true, tokens.scope.contains("openid") {
      let claims = tokens.authorization.idTokenClaims(
        issuer: issuer(call), accessToken: tokens.accessToken, code: code,
        lifetime: settings.idTokenSeconds, now: context.clock.now())
      if settings.rotateKeysBeforeSigning { keys.rotate(removingOld: true) }
      members["id_token"] = .string(
        try await keys.idToken(
          claims, settings.signing(settings.idToken), for: recipient(tokens.authorization.clientID))
      )
    }
    var reply = Reply.json(.object(members.applying(overrides: settings.tokenReply)))
    reply.headers["Pragma"] = "no-cache"
    return reply
  }
}

extension Form {
  /// The audiences of a sign-in, under the name of RFC 8707 or that of Auth0.
  var audiences: [String] {
    let resources = self["resource"]?.split(separator: "\n")
    return (resources ?? self["audience"]?.split(separator: " ") ?? []).map(String.init)
  }

  /// Returns the audience of a token request; nil if it names none.
  func oneAudience() throws(OAuthError) -> String? {
    guard audiences.count <= 1 else {
      throw OAuthError("invalid_target", "a token is for one resource only")
    }
    return audiences.first
  }

  func required(_ name: String) throws(OAuthError) -> String {
    guard let value = self[name] else { throw OAuthError("invalid_request", "\(name) is missing") }
    return value
  }
}
