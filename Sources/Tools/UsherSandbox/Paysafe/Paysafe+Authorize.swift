extension PaysafeBackend {
  /// Handles the authorization endpoint (RFC 6749 §4.1.1).
  ///
  /// If brand, client or redirect URI is invalid, the response is an error page, not a redirect.
  func authorize(_ call: EndpointCall) async -> Reply {
    let form: Form
    let brand: Brand
    let client: Client
    let redirectURI: String
    do {
      brand = try self.brand(call)
      form = try call.queryForm()
      (client, redirectURI) = try clients.requester(form)
    } catch {
      return context.pages.failure(error)
    }
    do {
      let request = try SignInRequest(
        form, client: client, brand: brand, redirectURI: redirectURI)
      try checkFingerprint(form["digital_fingerprint"], client, brand)
      let begun = signIns.begin(request, now: context.clock.now())
      return loginPage(request, begun.id, begun.csrf, username: request.loginHint)
    } catch {
      return authorizationResponse(
        to: redirectURI, state: form["state"],
        ["error": error.error, "error_description": error.description])
    }
  }

  private func checkFingerprint(
    _ fingerprint: String?, _ client: Client, _ brand: Brand
  ) throws(OAuthError) {
    guard let fingerprint else {
      guard !settings.requireDigitalFingerprint else {
        throw OAuthError("invalid_request", "digital_fingerprint is missing")
      }
      return
    }
    guard configTokens.knows(fingerprint, client, brand, now: context.clock.now()) else {
      throw OAuthError("invalid_request", "digital_fingerprint was not issued with a config token")
    }
  }

  /// Handles the sign-in form with user name and PIN or password; redirects to the client.
  func login(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let form = try? call.postedForm(), let id = form["transaction"],
      let visit = try? signIns.visit(id, csrf: form["csrf"], now: now),
      visit.request.brand.identity == call.parameters["brandIdentity"]
    else { return context.pages.expired() }
    let request = visit.request
    if form["action"] == "deny" {
      signIns.end(id)
      return authorizationResponse(
        to: request.redirectURI, state: request.state,
        ["error": "access_denied", "error_description": "the person denied the request"])
    }
    do {
      let username = username(form["username"] ?? "")
      let user = try signIns.authenticate(
        person(username, form, request.strategy), username: username,
        lockSeconds: settings.loginLockSeconds, now: now)
      signIns.end(id)
      let code = tokens.issueCode(
        for: TokenAuthorization(
          clientID: request.client.id, user: user, scope: [Self.scope], nonce: nil, authTime: now,
          brand: request.brand.identity),
        redirectURI: request.redirectURI, challenge: request.challenge, now: now)
      return authorizationResponse(
        to: request.redirectURI, state: request.state, ["code": code])
    } catch {
      return loginPage(
        request, id, visit.csrf, username: form["username"],
        problem: error == .locked
          ? "Too many wrong attempts: this user name is locked for some time."
          : "User name or \(request.strategy.label) is wrong.")
    }
  }

  /// Returns the user name for an e-mail address. Partners pass one as `login_hint`.
  private func username(_ typed: String) -> String {
    context.users.all.first { $0.email == typed }?.username ?? typed
  }

  private func person(_ username: String, _ form: Form, _ strategy: Brand.Strategy) -> User? {
    switch strategy {
    case .pin: context.users.signingIn(username, pin: form["pin"])
    case .password: context.users.signingIn(username, password: form["password"])
    }
  }

  /// Redirects to the client, with the overrides from the settings.
  private func authorizationResponse(
    to redirectURI: String, state: String?, _ parameters: [String: String]
  ) -> Reply {
    var members = parameters.mapValues { JSON.string($0) }
    members["state"] = state.map { .string($0) }
    return .redirect(
      to: redirectURI, adding: members.applying(overrides: settings.authorizeResponse),
      error: parameters["error"])
  }

  private func loginPage(
    _ request: SignInRequest, _ id: String, _ csrf: String, username: String?,
    problem: String? = nil
  ) -> Reply {
    let strategy = request.strategy
    var values: [String: Any] = [
      "action": "\(Self.path)/auth/brands/\(request.brand.identity)/login", "transaction": id,
      "csrf": csrf, "username": username ?? "", "client": request.client.name,
      "brand": request.brand.name, "field": strategy.field, "label": strategy.label,
      "users": context.users.all.compactMap { user in
        strategy.proof(of: user).map { ["name": user.username, "proof": $0] }
      },
    ]
    values["problem"] = problem.map { ["text": $0] }
    values["reset"] = request.resetURL.map { ["url": $0] }
    values["locale"] = request.locale.map { ["name": $0] }
    return context.pages.render("walletLogin", values, status: problem == nil ? 200 : 403)
  }
}

extension Brand.Strategy {
  /// The name and the id of the form field.
  fileprivate var field: String {
    switch self {
    case .pin: "pin"
    case .password: "password"
    }
  }

  fileprivate var label: String {
    switch self {
    case .pin: "PIN"
    case .password: "password"
    }
  }

  fileprivate func proof(of user: User) -> String? {
    switch self {
    case .pin: user.pin
    case .password: user.password
    }
  }
}
