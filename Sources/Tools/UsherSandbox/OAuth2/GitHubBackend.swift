/// A fake of GitHub: sign-in of OAuth apps and GitHub Apps in the browser and on a device, and the
/// parts of the REST API that concern the user and the token.
actor GitHubBackend: OAuth2Backend {
  static let client = Client(
    id: "usher-github", name: "usherd with GitHub", secret: "s3cret-github")

  let context: BackendContext
  let clients = ClientRegistry([client])
  nonisolated let path = "/github"
  var settings = GitHubBackendSettings()
  var ledger: Ledger

  init(_ context: BackendContext) {
    self.context = context
    ledger = Ledger(GitHubBackendSettings(), tokenGenerator: context.tokenGenerator)
  }

  nonisolated var title: String { "GitHub" }

  nonisolated var endpoints: [Endpoint] {
    pages(authorization: "/login/oauth/authorize") + [
      row("token", .post, "/login/oauth/access_token", token),
      row("device", .post, "/login/device/code", startDevice),
      row("device_page", .get, "/login/device", devicePage),
      row("user", .get, "/api/user", user),
      row("revocation", .delete, "/api/applications/{client_id}/token", deleteToken),
    ]
  }

  nonisolated func links(base: String) -> [Link] {
    [Link("Page for entering a device code", "\(base)\(path)/login/device")]
  }

  nonisolated func configurationSample(base: String) -> String {
    """
    [[provider]]
    name = "github"
    preset = "github"
    base_url = "\(base)\(path)"
    client_id = "\(Self.client.id)"
    client_credential = "github-secret"

    [provider.paths]
    userinfo = "/api/user"
    revocation = "/api/applications/{client_id}/token"

    # The client secret is \(Self.client.secret ?? "")
    """
  }

  nonisolated func requestedScope(_ form: Form) throws(OAuthError) -> [String] {
    try Scope.parse(form["scope"], separatedBy: [" ", ","])
  }
}

// MARK: - The token endpoint

extension GitHubBackend {
  func token(_ call: EndpointCall) async -> Reply {
    do {
      let tokens = try issue(try call.postedForm())
      var members: [String: JSON] = [
        "access_token": .string(tokens.accessToken), "token_type": "bearer",
        "scope": .string(tokens.scope.joined(separator: ",")),
      ]
      if let refreshToken = tokens.refreshToken {
        members["expires_in"] = .integer(tokens.expiresIn)
        members["refresh_token"] = .string(refreshToken)
        members["refresh_token_expires_in"] = .integer(settings.refreshTokenSeconds)
      }
      return reply(members.applying(overrides: settings.tokenReply), call)
    } catch {
      return reply(error, call)
    }
  }

  /// Runs the grant of a request; without `grant_type`, it is that of an authorization code.
  private func issue(_ form: Form) throws(OAuthError) -> IssuedTokens {
    let now = context.clock.now()
    switch form["grant_type"] ?? "authorization_code" {
    case "authorization_code":
      return try replacingErrors(Self.errors(invalidGrant: "bad_verification_code")) {
        () throws(OAuthError) in
        try redeem(form, client(form, needsSecret: true), needsRedirectURI: false)
      }
    case "refresh_token":
      return try replacingErrors(Self.errors(invalidGrant: "bad_refresh_token")) {
        () throws(OAuthError) in
        let token = try form.required("refresh_token")
        let known = ledger.tokens.authorization(ofRefreshToken: token, now: now)
        return try refresh(form, client(form, needsSecret: known?.isDevice == false))
      }
    case "urn:ietf:params:oauth:grant-type:device_code":
      return try replacingErrors(Self.errors(invalidGrant: "incorrect_device_code")) {
        () throws(OAuthError) in
        let client = try client(form, needsSecret: false)
        return try ledger.pollDevice(form.required("device_code"), client: client, now: now)
      }
    default:
      throw OAuthError("unsupported_grant_type", "there is no such grant_type")
    }
  }

  private static func errors(invalidGrant: String) -> [String: String] {
    [
      "invalid_grant": invalidGrant, "invalid_request": invalidGrant,
      "invalid_client": "incorrect_client_credentials",
    ]
  }

  /// Authenticates the client by the form. A secret that is not needed must be right if it is sent.
  private func client(_ form: Form, needsSecret: Bool) throws(OAuthError) -> Client {
    if !needsSecret, !form.has("client_secret"),
      let client = form["client_id"].flatMap(clients.named)
    {
      return client
    }
    return try clients.authenticate(form)
  }

  /// Returns a response of status 200: a form, unless the request accepts JSON.
  private func reply(
    _ members: [String: JSON], _ call: EndpointCall, error: String? = nil
  ) -> Reply {
    if call.headers["accept"]?.contains("application/json") == true {
      return .json(.object(members), error: error)
    }
    return Reply(
      status: 200,
      headers: [
        "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
        "Cache-Control": "no-store",
      ],
      body: Array(Form.encoded(members).utf8), error: error)
  }

  private func reply(_ refusal: OAuthError, _ call: EndpointCall) -> Reply {
    let place = refusal.error.replacing("_", with: "-")
    var members: [String: JSON] = [
      "error": .string(refusal.error), "error_description": .string(refusal.description),
      "error_uri": .string("https://docs.github.com/apps/oauth-apps/#\(place)"),
    ]
    members["interval"] = refusal.interval.map { .integer($0) }
    return reply(members, call, error: refusal.error)
  }

  /// Handles the device authorization endpoint (RFC 8628 §3.1), which needs no client secret.
  func startDevice(_ call: EndpointCall) async -> Reply {
    do throws(OAuthError) {
      let form = try call.postedForm()
      guard let client = form["client_id"].flatMap(clients.named) else {
        throw OAuthError("incorrect_client_credentials", "there is no such client")
      }
      let start = ledger.startDevice(
        client: client, scope: try requestedScope(form), now: context.clock.now())
      let members = start.members(page: "\(call.base)\(path)/login/device")
      return reply(members.applying(overrides: settings.deviceReply), call)
    } catch {
      return reply(error, call)
    }
  }
}
