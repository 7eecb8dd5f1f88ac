extension OIDCBackend {
  /// Handles the device authorization endpoint (RFC 8628 §3.1).
  func authorizeDevice(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let form = try call.postedForm()
      let client = try await authenticate(call, form)
      guard !settings.fapi2 else {
        throw OAuthError("unauthorized_client", "FAPI 2.0 has no profile of this grant")
      }
      let scope = try Scope.parse(form["scope"])
      try service?.check(scope)
      let start = ledger.startDevice(
        client: client, scope: scope, resources: form.audiences,
        now: context.clock.now())
      let page = "\(issuer(call))/device"
      var members = start.members(page: page)
      members["verification_uri_complete"] = .string("\(page)?user_code=\(start.userCode)")
      return .json(.object(members.applying(overrides: settings.deviceReply)))
    }
  }

  /// Returns the claims about the user of an access token (OIDC Core §5.3, RFC 6750 §2.1).
  func userinfo(_ call: EndpointCall) async -> Reply {
    guard let token = call.bearer ?? call.dpopToken else {
      return Self.challenge("", status: 401)
    }
    guard let permission = ledger.tokens.permission(of: token, now: context.clock.now()) else {
      return Self.challenge("invalid_token", status: 401)
    }
    guard permission.audience == nil, mayUse(token, call) else {
      return Self.challenge("invalid_token", status: 401)
    }
    guard permission.scope.contains("openid") else {
      return Self.challenge("insufficient_scope", status: 403)
    }
    do throws(OAuthError) {
      try checkBinding(of: permission, token, call)
    } catch {
      var reply = error.reply
      reply.headers["WWW-Authenticate"] = #"DPoP algs="ES256", error="\#(error.error)""#
      return reply
    }
    let claims = permission.personClaims(and: permission.claims.userinfo)
      .applying(overrides: settings.userinfo)
    let protection = settings.signing(settings.userinfoToken)
    guard protection.omit != true else { return .json(.object(claims)) }
    return await respondingWithOAuthErrors {
      let names: [String: JSON] = [
        "iss": .string(issuer(call)), "aud": .string(permission.clientID),
      ]
      let token = try await keys.idToken(
        claims.merging(names) { claim, _ in claim }, protection, for: recipient(permission.clientID)
      )
      return Reply(
        status: 200, headers: ["Content-Type": "application/jwt", "Cache-Control": "no-store"],
        body: Array(token.utf8))
    }
  }

  /// Returns a bearer challenge; without an error code if the request had no token (RFC 6750 §3.1).
  private static func challenge(_ error: String, status: Int) -> Reply {
    guard !error.isEmpty else {
      return Reply(
        status: status, headers: ["WWW-Authenticate": #"Bearer realm="usher-sandbox""#])
    }
    var reply = Reply.refusal(error, "the access token does not permit this", status: status)
    reply.headers["WWW-Authenticate"] = #"Bearer realm="usher-sandbox", error="\#(error)""#
    return reply
  }

  /// Revokes a token (RFC 7009). An unknown token also gives 200.
  func revoke(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let form = try call.postedForm()
      let client = try await authenticate(call, form)
      try ledger.tokens.revoke(
        try form.required("token"), client: client, now: context.clock.now())
      return Reply(status: 200, headers: ["Cache-Control": "no-store"])
    }
  }

  /// Introspects a token (RFC 7662). Only clients with a secret may do so.
  func introspect(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let form = try call.postedForm()
      let client = try await authenticate(call, form)
      guard client.secret != nil || client.certificate != nil else {
        throw OAuthError.client("a public client may not introspect")
      }
      let token = try form.required("token")
      guard let known = ledger.tokens.introspection(of: token, now: context.clock.now()) else {
        return .json(["active": false])
      }
      var members: [String: JSON] = [
        "active": true, "client_id": .string(known.clientID), "sub": .string(known.user.sub),
        "username": .string(known.user.username), "iss": .string(issuer(call)),
        "scope": .string(known.scope.joined(separator: " ")),
      ]
      members["aud"] = known.audience.map { .string($0) }
      members["cnf"] = binding(of: token).map { ["x5t#S256": .string($0)] }
      return .json(.object(members))
    }
  }
}
