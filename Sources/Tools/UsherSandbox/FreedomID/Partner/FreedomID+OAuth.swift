import FoundationEssentials

/// The partner API: link, tokens and the data of whoever signed in.
extension FreedomID {
  /// `POST /api/v1/oauth/authorize`: where a browser is sent to.
  func link(_ call: Call) async -> Reply {
    await answeringFreedom(inside200: settings.errorsInside200) {
      try checkClient(call)
      var body = try FreedomBody(call)
      let redirectURI = body.required("redirect_uri", .link)
      let grants = body.grants(knowing: FreedomGrant.partnerWords)
      if !redirectURI.isEmpty, !FreedomPartner.allowsRedirect(to: redirectURI, settings) {
        body.complain("redirect_uri", "is not registered")
      }
      try body.finish()
      let (track, expires) = ledger.addLink(
        FreedomLink(redirectURI: redirectURI, grants: grants), settings,
        now: workbench.clock.now())
      let link =
        "\(call.base)\(Self.path)/login?track_id=\(track)"
        + "&expire_at=\(Int(expires.timeIntervalSince1970))"
      let members: [String: JSON] = ["redirect_uri": .string(link)]
      return .json(.object(members.overlaid(with: settings.linkReply)))
    }
  }

  /// A code for tokens, once.
  func redeem(_ call: Call) async -> Reply {
    await answeringFreedom(inside200: settings.errorsInside200) {
      try checkClient(call)
      var body = try FreedomBody(call)
      let code = body.required("authorization_code", .text)
      try body.finish()
      let now = workbench.clock.now()
      guard let known = ledger.codes.value(code, now: now), case .partner = known.use,
        ledger.spend(code, now: now) != nil
      else { throw FreedomRefusal.authorizationCode }
      let token = ledger.issue(known.use, to: known.person, settings, now: now)
      return .json(.object(token.members.overlaid(with: settings.tokenReply)))
    }
  }

  func refresh(_ call: Call) async -> Reply {
    await answeringFreedom(inside200: settings.errorsInside200) {
      let now = workbench.clock.now()
      guard let token = call.bearer.flatMap({ ledger.token(refresh: $0, now: now) }),
        token.grants != nil
      else { throw FreedomRefusal.token }
      let renewed = ledger.renew(token, settings, now: now)
      return .json(.object(renewed.members.overlaid(with: settings.tokenReply)))
    }
  }

  /// Who the bearer is, as far as the grants open it.
  func user(_ call: Call) async -> Reply {
    await answeringFreedom(inside200: settings.errorsInside200) {
      let (person, grants) = try bearer(call)
      var members = profile(person, grants)
      members["id"] = .string(settings.otherAccount ? workbench.mint.uuid() : person.id)
      return .json(.object(members.overlaid(with: settings.userReply)))
    }
  }

  /// Who a partner's token stands for, and what it was granted.
  func bearer(_ call: Call) throws(FreedomRefusal) -> (FreedomPerson, [String]) {
    let now = workbench.clock.now()
    guard let token = call.bearer.flatMap({ ledger.token(access: $0, now: now) }),
      let grants = token.grants, let person = ledger.person(token.person)
    else { throw .token }
    return (person, grants)
  }

  /// Basic has id and secret as they are (RFC 7617 §2), not form-encoded as OAuth has them.
  private func checkClient(_ call: Call) throws(FreedomRefusal) {
    let client = FreedomPartner.client
    let pair = Array("\(client.id):\(client.secret ?? "")".utf8)
    guard let header = call.headers["authorization"], header.lowercased().hasPrefix("basic "),
      Base64.decoded(String(header.dropFirst("basic ".count))) == pair
    else { throw .client }
  }
}
