/// A fake of Atlassian's sign-in for apps, "OAuth 2.0 (3LO)", and of the endpoint that returns the
/// user.
actor AtlassianBackend: OAuth2Backend {
  static let client = Client(
    id: "usher-atlassian", name: "usherd with Atlassian", secret: "s3cret:atlassian/+=")

  let context: BackendContext
  let clients = ClientRegistry([client])
  nonisolated let path = "/atlassian"
  var settings = AtlassianBackendSettings()
  var ledger: Ledger

  init(_ context: BackendContext) {
    self.context = context
    ledger = Ledger(AtlassianBackendSettings(), tokenGenerator: context.tokenGenerator)
  }

  nonisolated var title: String { "Atlassian" }

  nonisolated var endpoints: [Endpoint] {
    pages(authorization: "/authorize") + [
      row("token", .post, "/oauth/token", token),
      row("user", .get, "/me", user),
    ]
  }

  nonisolated func configurationSample(base: String) -> String {
    """
    [[provider]]
    name = "atlassian"
    preset = "atlassian"
    base_url = "\(base)\(path)"
    client_id = "\(Self.client.id)"
    client_credential = "atlassian-secret"

    [provider.paths]
    userinfo = "/me"

    # The client secret is \(Self.client.secret ?? "")
    """
  }

  nonisolated func requestedScope(_ form: Form) throws(OAuthError) -> [String] {
    guard form["response_type"] == "code" else {
      throw OAuthError("unsupported_response_type", "response_type must be code")
    }
    guard form["audience"] == "api.atlassian.com" else {
      throw OAuthError("invalid_request", "audience must be api.atlassian.com")
    }
    guard form["prompt"] == "consent" else {
      throw OAuthError("invalid_request", "prompt must be consent")
    }
    return try Scope.parse(form["scope"])
  }

  /// Handles the token endpoint, whose requests are JSON.
  func token(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let tokens = try issue(Self.members(call))
      var members: [String: JSON] = [
        "access_token": .string(tokens.accessToken), "token_type": "Bearer",
        "expires_in": .integer(tokens.expiresIn),
        "scope": .string(tokens.scope.joined(separator: " ")),
      ]
      members["refresh_token"] = tokens.refreshToken.map { .string($0) }
      return .json(.object(members.applying(overrides: settings.tokenReply)))
    }
  }

  /// Reads the texts of a JSON object as the fields of a form.
  private static func members(_ call: EndpointCall) throws(OAuthError) -> Form {
    guard call.contentType == "application/json" else {
      throw OAuthError(
        "invalid_request", "Content-Type must be application/json", status: 415)
    }
    guard case .object(let members) = try call.postedJSON() else {
      throw OAuthError("invalid_request", "the body is not a JSON object")
    }
    return Form(members.compactMapValues(\.text))
  }

  private func issue(_ form: Form) throws(OAuthError) -> IssuedTokens {
    guard let client = try? clients.authenticate(form) else {
      throw OAuthError("access_denied", "Unauthorized", status: 401)
    }
    switch try form.required("grant_type") {
    case "authorization_code":
      guard let tokens = try? redeem(form, client) else {
        throw OAuthError("invalid_grant", "Invalid authorization code", status: 403)
      }
      return tokens
    case "refresh_token":
      guard let tokens = try? refresh(form, client) else {
        throw OAuthError("invalid_grant", "Unknown or invalid refresh token.", status: 403)
      }
      return tokens
    default:
      throw OAuthError("unsupported_grant_type", "there is no such grant_type", status: 403)
    }
  }

  func user(_ call: EndpointCall) async -> Reply {
    guard let permission = permission(call) else {
      return Self.refusal("Unauthorized", status: 401)
    }
    guard permission.scope.contains("read:me") else {
      return Self.refusal("Forbidden", status: 403)
    }
    let user = permission.user
    let members: [String: JSON] = [
      "account_id": .string("712020:\(TokenGenerator.uuid(user.idBytes, version: 4))"),
      "email": .string(user.email), "name": .string(user.name),
      "picture": .string("https://example.com/\(user.username).png"),
    ]
    return .json(.object(members.applying(overrides: settings.userReply)))
  }

  private static func refusal(_ message: String, status: Int) -> Reply {
    .json(
      ["code": .integer(status), "message": .string(message)], status: status, error: message)
  }
}
