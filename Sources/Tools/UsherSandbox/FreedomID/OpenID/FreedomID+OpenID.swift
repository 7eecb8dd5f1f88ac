import FoundationEssentials

extension FreedomIDBackend {
  /// Returns the issuer, which is the base URL of the fake.
  private func issuer(_ call: EndpointCall) -> String { call.base + Self.path }

  func discovery(_ call: EndpointCall) async -> Reply {
    let issuer = issuer(call)
    let document: [String: JSON] = [
      "issuer": .string(issuer),
      "authorization_endpoint": .string("\(issuer)/openid"),
      "token_endpoint": .string("\(issuer)/api/v1/oidc/token"),
      "userinfo_endpoint": .string("\(issuer)/api/v1/oidc/userinfo"),
      "jwks_uri": .string("\(issuer)/api/v1/oidc/jwks"),
      "response_types_supported": ["code"],
      "response_modes_supported": ["query"],
      "grant_types_supported": ["authorization_code", "refresh_token"],
      "subject_types_supported": ["public"],
      "id_token_signing_alg_values_supported": ["RS256"],
      "scopes_supported": ["openid", "profile", "email", "phone"],
      "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    ]
    return .json(.object(document.applying(overrides: settings.discovery)))
  }

  func jwks(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors { .json(try keys.keySet()) }
  }

  /// Handles `GET /openid`, which the browser opens.
  func openIDPage(_ call: EndpointCall) async -> Reply {
    let form: Form
    let redirectURI: String
    do {
      form = try call.queryForm()
      redirectURI = try FreedomOpenIDRequest.redirectURI(form, settings)
    } catch {
      return context.pages.failure(error)
    }
    do {
      let request = try FreedomOpenIDRequest(form, redirectURI: redirectURI)
      return page(of: visits.begin(.openID(request), now: context.clock.now()))
    } catch {
      var parameters: [String: JSON] = [
        "error": .string(error.error), "error_description": .string(error.description),
      ]
      parameters["state"] = form["state"].map { .string($0) }
      return back(to: redirectURI, parameters, error: error.error)
    }
  }

  /// Handles the token endpoint with a JSON body and HTTP Basic. Errors are those of RFC 6749 §5.2.
  func openIDToken(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      _ = try FreedomPartner.clients.authenticate(call, Form())
      var body = try call.postedObject()
      let now = context.clock.now()
      switch try body.requiredText("grant_type") {
      case "authorization_code":
        let code = try body.requiredText("code")
        let token = try redeem(code, &body, now)
        return try await answer(token, call, answeringRequest: code, now)
      case "refresh_token":
        let refresh = try body.requiredText("refresh_token")
        guard let token = ledger.token(refresh: refresh, now: now), case .openID = token.use else {
          throw OAuthError("invalid_grant", "the refresh token is unknown, used or expired")
        }
        return try await answer(ledger.renew(token, settings, now: now), call, now)
      default:
        throw OAuthError("unsupported_grant_type", "there is no such grant_type")
      }
    }
  }

  private func redeem(
    _ text: String, _ body: inout ObjectReader, _ now: Date
  ) throws(OAuthError) -> FreedomToken {
    let redirectURI = try body.requiredText("redirect_uri", limit: 2048)
    let verifier = try body.text("code_verifier")
    guard let code = ledger.codes.value(text, now: now), case .openID(let request, _) = code.use,
      ledger.spend(text, now: now) != nil
    else { throw OAuthError("invalid_grant", "the code is unknown, used or expired") }
    guard request.redirectURI == redirectURI else {
      throw OAuthError("invalid_grant", "redirect_uri differs from the authorization request")
    }
    if let challenge = request.challenge {
      guard let verifier, PKCEVerification.matches(verifier: verifier, challenge: challenge) else {
        throw OAuthError("invalid_grant", "code_verifier does not match the code_challenge")
      }
    }
    return ledger.issue(code.use, to: code.person, settings, now: now)
  }

  private func answer(
    _ token: FreedomToken, _ call: EndpointCall, answeringRequest code: String? = nil, _ now: Date
  ) async throws -> Reply {
    let settings = settings
    var members: [String: JSON] = [
      "access_token": .string(token.access), "refresh_token": .string(token.refresh),
      "token_type": "Bearer", "expires_in": .integer(settings.accessTokenSeconds),
    ]
    if settings.idToken.omit != true, let authorization = authorization(of: token) {
      let claims = authorization.idTokenClaims(
        issuer: issuer(call), accessToken: token.access, code: code,
        lifetime: settings.idTokenSeconds, now: now)
      members["id_token"] = .string(
        try await keys.idToken(claims, settings.idToken))
    }
    return .json(.object(members.applying(overrides: settings.openIDReply)))
  }

  /// Returns the claims about the user of an access token (OIDC Core §5.3).
  func userinfo(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let token = call.bearer.flatMap({ ledger.token(access: $0, now: now) }),
      let authorization = authorization(of: token)
    else {
      var reply = Reply.refusal(
        "invalid_token", "the access token does not permit this", status: 401)
      reply.headers["WWW-Authenticate"] = #"Bearer realm="usher-sandbox", error="invalid_token""#
      return reply
    }
    return .json(.object(authorization.personClaims().applying(overrides: settings.userinfo)))
  }

  /// Returns the authorization of an OpenID token; nil for other kinds of token.
  private func authorization(of token: FreedomToken) -> TokenAuthorization? {
    guard case .openID(let request, let time) = token.use,
      let person = ledger.person(token.person)
    else { return nil }
    let names = [person.profile.firstname, person.profile.lastname].compactMap(\.self)
    let user = User(
      username: person.username, password: "", sub: person.id,
      name: names.joined(separator: " "), email: person.profile.email,
      phone: person.profile.phone)
    let scope = request.scope.filter { $0 != "email" || person.profile.email != nil }
    return TokenAuthorization(
      clientID: FreedomPartner.client.id, user: user, scope: scope, nonce: request.nonce,
      authTime: time)
  }
}
