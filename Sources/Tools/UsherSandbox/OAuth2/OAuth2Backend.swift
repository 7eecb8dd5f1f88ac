import Crypto
import FoundationEssentials

/// A fake of an OAuth 2.0 server (RFC 6749) that has neither discovery nor ID tokens.
///
/// <doc:OAuth2> lists paths, clients, control calls and settings.
protocol OAuth2Backend: SignInBackend, ConfigurableBackend where Settings: OAuth2BackendSettings {
  /// Returns the scope of an authorization request, or refuses the request as the server does.
  nonisolated func requestedScope(_ form: Form) throws(OAuthError) -> [String]
}

// MARK: - Endpoints

extension OAuth2Backend {
  nonisolated var name: String { String(path.dropFirst()) }

  package nonisolated func links(base: String) -> [Link] { [] }

  package nonisolated var controls: [Endpoint] {
    [
      control("settings", .get, readSettings),
      control("settings", .post, changeSettings),
      control("settings", .delete, resetSettings),
      control("revokeAll", .post, revokeAll),
    ]
  }

  /// The pages on which a person signs in and consents.
  ///
  /// - Parameter authorization: The path of the authorization endpoint.
  nonisolated func pages(authorization: String) -> [Endpoint] {
    [
      row("authorize", .get, authorization, authorize),
      row("login", .post, "/login", login),
      row("consent", .post, "/consent", consent),
    ]
  }

  nonisolated func row(
    _ name: String, _ method: Endpoint.Method, _ path: String,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    Endpoint("\(self.name)_\(name)", method, self.path + path, handle: handle)
  }

  private nonisolated func control(
    _ name: String, _ method: Endpoint.Method,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    Endpoint("\(self.name)_\(name)", method, "/_control\(path)/\(name)", handle: handle)
  }
}

// MARK: - Requests

extension OAuth2Backend {
  func apply(_ settings: Settings) {
    self.settings = settings
    ledger.tokens.terms = settings.terms
    ledger.deviceTerms = settings.deviceTerms
  }

  /// Handles the authorization endpoint. Every refusal is shown on an error page.
  func authorize(_ call: EndpointCall) async -> Reply {
    do {
      let form = try call.queryForm()
      let (client, redirectURI) = try clients.requester(form)
      let request = AuthorizationRequest(
        client: client, redirectURI: redirectURI, state: form["state"],
        scope: try requestedScope(form), nonce: nil,
        challenge: try PKCEVerification.optionalChallenge(form), loginHint: nil)
      let begun = ledger.begin(.authorization(request), now: context.clock.now())
      return loginPage(.authorization(request), begun.id, begun.csrf)
    } catch {
      return context.pages.failure(error)
    }
  }

  func authorizationResponse(
    to target: ResponseTarget, _ call: EndpointCall, _ parameters: [String: String]
  ) -> Reply {
    var members = parameters.mapValues { JSON.string($0) }
    members["state"] = target.state.map { .string($0) }
    return .redirect(to: target.redirectURI, adding: members, error: parameters["error"])
  }

  /// Exchanges a code for tokens. A different redirect URI is refused as `redirect_uri_mismatch`.
  ///
  /// - Parameter needsRedirectURI: Whether the request must repeat the redirect URI.
  func redeem(
    _ form: Form, _ client: Client, needsRedirectURI: Bool = true
  ) throws(OAuthError) -> IssuedTokens {
    let now = context.clock.now()
    let code = try form.required("code")
    let known = ledger.tokens.requestedRedirectURI(ofCode: code, now: now) ?? ""
    let redirectURI = form["redirect_uri"] ?? (needsRedirectURI ? "" : known)
    guard known.isEmpty || redirectURI == known else {
      throw OAuthError(
        "redirect_uri_mismatch", "redirect_uri differs from the authorization request")
    }
    return try ledger.tokens.redeemCode(
      code, client: client, redirectURI: redirectURI, verifier: form["code_verifier"], now: now)
  }

  /// Exchanges a refresh token for new tokens, with the whole granted scope.
  func refresh(_ form: Form, _ client: Client) throws(OAuthError) -> IssuedTokens {
    try ledger.tokens.refresh(
      form.required("refresh_token"), client: client, scope: nil, now: context.clock.now())
  }

  /// Returns the authorization of the request's access token; nil if the token is not valid.
  func permission(_ call: EndpointCall) -> TokenAuthorization? {
    call.bearer.flatMap { ledger.tokens.permission(of: $0, now: context.clock.now()) }
  }

  /// Runs a grant and replaces the error codes of RFC 6749 with those of the server.
  func replacingErrors(
    _ codes: [String: String], _ grant: () throws(OAuthError) -> IssuedTokens
  ) throws(OAuthError) -> IssuedTokens {
    do {
      return try grant()
    } catch {
      var refusal = error
      refusal.error = codes[error.error] ?? error.error
      throw refusal
    }
  }
}

extension User {
  /// Bytes that belong to this user and are the same in each run. The servers' user ids consist of
  /// them.
  var idBytes: [UInt8] { Array(SHA256.hash(data: Data(sub.utf8))) }
}
