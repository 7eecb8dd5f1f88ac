import FoundationEssentials

/// The partner API: links, tokens and the profile of the person who signed in.
extension FreedomIDBackend {
  /// Handles `POST /api/v1/oauth/authorize`: creates a link for the browser.
  func link(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      try checkClient(call)
      var body = try FreedomBody(call)
      let redirectURI = body.required("redirect_uri", .link)
      let grants = body.grants(knowing: FreedomGrant.partnerWords)
      if !redirectURI.isEmpty, !FreedomPartner.allowsRedirect(to: redirectURI, settings) {
        body.addError("redirect_uri", "is not registered")
      }
      try body.finish()
      let (track, expires) = ledger.addLink(
        IssuedLink(redirectURI: redirectURI, grants: grants), settings,
        now: context.clock.now())
      let link =
        "\(call.base)\(Self.path)/login?track_id=\(track)"
        + "&expire_at=\(Int(expires.timeIntervalSince1970))"
      let members: [String: JSON] = ["redirect_uri": .string(link)]
      return .json(.object(members.applying(overrides: settings.linkReply)))
    }
  }

  /// Redeems a code, once, for tokens.
  func redeem(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      try checkClient(call)
      var body = try FreedomBody(call)
      let code = body.required("authorization_code", .text)
      try body.finish()
      let now = context.clock.now()
      guard let known = ledger.codes.value(code, now: now), case .partner = known.use,
        ledger.spend(code, now: now) != nil
      else { throw FreedomRefusal.authorizationCode }
      let token = ledger.issue(known.use, to: known.person, settings, now: now)
      return .json(.object(token.members.applying(overrides: settings.tokenReply)))
    }
  }

  func refresh(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let now = context.clock.now()
      guard let token = call.bearer.flatMap({ ledger.token(refresh: $0, now: now) }),
        token.grants != nil
      else { throw FreedomRefusal.token }
      let renewed = ledger.renew(token, settings, now: now)
      return .json(.object(renewed.members.applying(overrides: settings.tokenReply)))
    }
  }

  /// Returns the profile of the token's person, as far as the grants permit.
  func user(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let (person, grants) = try bearer(call)
      var members = profile(person, grants)
      members["id"] = .string(settings.otherAccount ? context.tokenGenerator.uuid() : person.id)
      return .json(.object(members.applying(overrides: settings.userReply)))
    }
  }

  /// Returns the person of a partner's access token, and its grants.
  func bearer(_ call: EndpointCall) throws(FreedomRefusal) -> (FreedomIDUser, [String]) {
    let now = context.clock.now()
    guard let token = call.bearer.flatMap({ ledger.token(access: $0, now: now) }),
      let grants = token.grants, let person = ledger.person(token.person)
    else { throw .token }
    return (person, grants)
  }

  /// Checks HTTP Basic credentials. They are not form-encoded (RFC 7617 §2), unlike those of OAuth.
  private func checkClient(_ call: EndpointCall) throws(FreedomRefusal) {
    let client = FreedomPartner.client
    let pair = Array("\(client.id):\(client.secret ?? "")".utf8)
    guard let header = call.headers["authorization"], header.lowercased().hasPrefix("basic "),
      Base64.decoded(String(header.dropFirst("basic ".count))) == pair
    else { throw .client }
  }
}
