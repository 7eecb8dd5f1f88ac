/// A fake of Slack's sign-in for apps that act as a user, and of the Web API methods that concern
/// the token.
actor SlackBackend: OAuth2Backend {
  static let client = Client(id: "usher-slack", name: "usherd with Slack", secret: "s3cret-slack")
  /// The only workspace.
  static let team: (id: String, name: String) = ("T0SANDBOX", "Sandbox")

  let context: BackendContext
  let clients = ClientRegistry([client])
  nonisolated let path = "/slack"
  var settings = SlackBackendSettings()
  var ledger: Ledger

  init(_ context: BackendContext) {
    self.context = context
    ledger = Ledger(SlackBackendSettings(), tokenGenerator: context.tokenGenerator)
  }

  nonisolated var title: String { "Slack" }

  nonisolated var endpoints: [Endpoint] {
    pages(authorization: "/oauth/v2_user/authorize") + [
      row("token", .post, "/api/oauth.v2.user.access", token),
      row("user", .get, "/api/auth.test", user),
      row("user", .post, "/api/auth.test", user),
      row("revocation", .get, "/api/auth.revoke", revoke),
      row("revocation", .post, "/api/auth.revoke", revoke),
    ]
  }

  nonisolated func configurationSample(base: String) -> String {
    """
    [[provider]]
    name = "slack"
    preset = "slack"
    base_url = "\(base)\(path)"
    client_id = "\(Self.client.id)"
    client_credential = "slack-secret"

    # The client secret is \(Self.client.secret ?? "")
    """
  }

  nonisolated func requestedScope(_ form: Form) throws(OAuthError) -> [String] {
    guard form["scope"]?.contains(" ") != true else {
      throw OAuthError("invalid_scope", "scopes must be separated by commas")
    }
    return try Scope.parse(form["scope"], separatedBy: [","])
  }

  /// Handles `oauth.v2.user.access`, the token endpoint. All its responses have status 200.
  func token(_ call: EndpointCall) async -> Reply {
    do {
      let form = try call.postedForm()
      let tokens = try issue(form, try authenticate(call, form))
      var members: [String: JSON] = [
        "ok": true, "access_token": .string(tokens.accessToken), "token_type": "user",
        "scope": .string(tokens.scope.joined(separator: ",")),
        "user_id": .string(tokens.authorization.user.slackID),
        "team": ["id": .string(Self.team.id), "name": .string(Self.team.name)],
      ]
      if let refreshToken = tokens.refreshToken {
        members["expires_in"] = .integer(tokens.expiresIn)
        members["refresh_token"] = .string(refreshToken)
      }
      return .json(.object(members.applying(overrides: settings.tokenReply)))
    } catch {
      return Self.refusal(error.error)
    }
  }

  private func authenticate(_ call: EndpointCall, _ form: Form) throws(OAuthError) -> Client {
    do {
      return try clients.authenticate(call, form)
    } catch {
      let isKnown = clients.claimedID(call, form).flatMap(clients.named) != nil
      throw OAuthError(isKnown ? "bad_client_secret" : "invalid_client_id", error.description)
    }
  }

  /// Runs the grant of a request; without `grant_type`, it is that of an authorization code.
  private func issue(_ form: Form, _ client: Client) throws(OAuthError) -> IssuedTokens {
    switch form["grant_type"] ?? "authorization_code" {
    case "authorization_code":
      let codes = [
        "invalid_grant": "invalid_code", "invalid_request": "invalid_code",
        "redirect_uri_mismatch": "bad_redirect_uri",
      ]
      return try replacingErrors(codes) { () throws(OAuthError) in try redeem(form, client) }
    case "refresh_token":
      let codes = [
        "invalid_grant": "invalid_refresh_token", "invalid_request": "invalid_refresh_token",
      ]
      return try replacingErrors(codes) { () throws(OAuthError) in try refresh(form, client) }
    default:
      throw OAuthError("invalid_grant_type", "there is no such grant_type")
    }
  }

  /// Handles `auth.test`, which says whose token it is.
  func user(_ call: EndpointCall) async -> Reply {
    guard let user = permission(call)?.user else { return Self.refusalOfToken(call) }
    let members: [String: JSON] = [
      "ok": true, "url": .string("\(call.base)\(path)/"), "team": .string(Self.team.name),
      "user": .string(user.username), "team_id": .string(Self.team.id),
      "user_id": .string(user.slackID),
    ]
    return .json(.object(members.applying(overrides: settings.userReply)))
  }

  /// Handles `auth.revoke`, which ends the access token of the request.
  func revoke(_ call: EndpointCall) async -> Reply {
    guard let token = call.bearer, permission(call) != nil else {
      return Self.refusalOfToken(call)
    }
    ledger.tokens.accessTokens.remove(token)
    return .json(["ok": true, "revoked": true])
  }

  private static func refusalOfToken(_ call: EndpointCall) -> Reply {
    refusal(call.bearer == nil ? "not_authed" : "invalid_auth")
  }

  private static func refusal(_ error: String) -> Reply {
    .json(["ok": false, "error": .string(error)], error: error)
  }
}

extension User {
  fileprivate var slackID: String { "U" + Hex.text(idBytes.prefix(5)).uppercased() }
}
