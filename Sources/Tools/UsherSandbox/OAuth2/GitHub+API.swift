/// The REST API.
extension GitHubBackend {
  func user(_ call: EndpointCall) async -> Reply {
    if let refusal = Self.refusalWithoutUserAgent(call) { return refusal }
    guard let user = permission(call)?.user else {
      return Self.refusal(
        call.bearer == nil ? "Requires authentication" : "Bad credentials", status: 401)
    }
    let members: [String: JSON] = [
      "login": .string(user.username), "id": .integer(user.gitHubID),
      "name": .string(user.name), "email": .string(user.email),
      "avatar_url": .string("https://example.com/\(user.username).png"),
      "updated_at": "2026-01-31T12:00:00Z", "type": "User",
    ]
    return .json(.object(members.applying(overrides: settings.userReply)))
  }

  /// Handles `DELETE /applications/{client_id}/token`, which ends one access token of the client.
  func deleteToken(_ call: EndpointCall) async -> Reply {
    if let refusal = Self.refusalWithoutUserAgent(call) { return refusal }
    guard let client = try? clients.authenticate(call, Form()),
      client.id == call.parameters["client_id"]
    else { return Self.refusal("Not Found", status: 404) }
    guard let token = (try? JSON(parsing: call.body))?["access_token"]?.text,
      ledger.tokens.permission(of: token, now: context.clock.now())?.clientID == client.id
    else { return Self.refusal("Validation Failed", status: 422) }
    ledger.tokens.accessTokens.remove(token)
    return Reply(status: 204)
  }

  private static func refusalWithoutUserAgent(_ call: EndpointCall) -> Reply? {
    guard call.headers["user-agent", default: ""].isEmpty else { return nil }
    return refusal("Request forbidden: it has no User-Agent header", status: 403)
  }

  private static func refusal(_ message: String, status: Int) -> Reply {
    .json(
      [
        "message": .string(message), "documentation_url": "https://docs.github.com/rest",
        "status": .string(String(status)),
      ],
      status: status, error: message)
  }
}

extension User {
  /// A positive number of at most 31 bits.
  fileprivate var gitHubID: Int {
    idBytes.prefix(4).reduce(0) { $0 << 8 | Int($1) } & 0x7FFF_FFFF
  }
}
