import FoundationEssentials

extension PaysafeBackend {
  func readSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors { .json(try JSON(encoding: settings)) }
  }

  func changeSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      apply(try settings.changed(by: try call.settingChanges()))
      return .json(try JSON(encoding: settings))
    }
  }

  func resetSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      apply(PaysafeBackendSettings())
      return .json(try JSON(encoding: settings))
    }
  }

  private func apply(_ settings: PaysafeBackendSettings) {
    self.settings = settings
    tokens.terms = settings.terms
  }

  func showAuthenticator(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let user = try user(try call.queryForm()["username"])
      let now = context.clock.now()
      let authenticator = events.authenticator(of: user)
      return .json([
        "code": .string(authenticator.code(at: now)),
        "secondsLeft": .integer(authenticator.secondsLeft(at: now)),
      ])
    }
  }

  func listTokens(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    let listed = tokens.listing(now) + configTokens.listing(now)
    return .json(["tokens": .array(listed.map(\.json))])
  }

  /// Creates a grant without a sign-in and returns its tokens.
  func openGrant(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try ObjectReader(call.body.isEmpty ? [:] : try? JSON(parsing: call.body))
      let user = try user(try body.text("username") ?? "alice")
      let clientID = try body.text("clientID") ?? "acme-wallet"
      let brand = try body.text("brandIdentity") ?? "acme"
      try body.finish()
      guard clients.named(clientID) != nil else {
        throw body.invalid("clientID", "is not a known client")
      }
      guard Brand.standard.contains(where: { $0.identity == brand }) else {
        throw body.invalid("brandIdentity", "is not a known brand")
      }
      let now = context.clock.now()
      let authorization = TokenAuthorization(
        clientID: clientID, user: user, scope: [Self.scope], nonce: nil, authTime: now,
        brand: brand)
      return try await reply(tokens.open(authorization, now: now).tokens, call)
    }
  }

  func revokeAll(_ call: EndpointCall) async -> Reply {
    tokens.revokeAll()
    return .json(["ok": true])
  }

  func endAccessTokens(_ call: EndpointCall) async -> Reply {
    tokens.endAccessTokens()
    return .json(["ok": true])
  }

  func unlockAll(_ call: EndpointCall) async -> Reply {
    signIns.unlockAll()
    return .json(["ok": true])
  }

  func listOperations(_ call: EndpointCall) async -> Reply {
    .json(["operations": .array(wallets.performed.map(\.json))])
  }

  /// Returns the user of this name; throws a refusal that names the member `username`.
  func user(_ username: String?) throws(OAuthError) -> User {
    guard let username, let user = context.users.named(username) else {
      throw OAuthError("invalid_request", "username is not a known user")
    }
    return user
  }
}
