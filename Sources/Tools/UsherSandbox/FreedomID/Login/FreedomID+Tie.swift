import FoundationEssentials

/// The device API of the SDK: calls of a device to which an account is tied.
extension FreedomIDBackend {
  func renewBinding(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let device = try device(call)
      let now = context.clock.now()
      guard let token = call.bearer.flatMap({ ledger.token(refresh: $0, now: now) }),
        token.device == device
      else { throw FreedomRefusal.token }
      let renewed = ledger.renew(token, settings, now: now)
      return .json(.object(renewed.members.applying(overrides: settings.tokenReply)))
    }
  }

  /// Ends a tie. An expired token is accepted too.
  func unbindDevice(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let device = try device(call)
      guard let bearer = call.bearer,
        let token = ledger.tokens.values.first(where: {
          [$0.access, $0.refresh].contains(bearer) && $0.device == device && !$0.isEnded
        })
      else { throw FreedomRefusal.token }
      ledger.end(token.id)
      return Reply(status: 204)
    }
  }

  /// Records a consent. A repeated `request_id` gets the same response.
  func consent(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let device = try device(call)
      let now = context.clock.now()
      guard let token = call.bearer.flatMap({ ledger.token(access: $0, now: now) }),
        token.device == device, let person = ledger.person(token.person)
      else { throw FreedomRefusal.token }
      var body = try FreedomBody(call)
      let id = body.required("request_id", .uuid).lowercased()
      let grants = body.grants(knowing: FreedomGrant.words)
      let key = "\(person.id) \(id)"
      let before = ledger.consents.value(key, now: now)
      if let before, before.asked != grants {
        body.addError("request_id", "was already used for other grants")
      }
      try body.finish()
      guard !settings.closedAccounts.contains(person.username) else {
        throw FreedomRefusal.mayNotGive
      }
      if before == nil {
        ledger.consents.insert(
          FreedomConsent(id: id, person: person.id, device: device, asked: grants, at: now),
          for: key, until: .distantFuture, now: now)
      }
      return .json(
        .object(consentResponse(person, grants).applying(overrides: settings.consentReply)))
    }
  }

  /// Returns the response to a consent, with the faults that the settings demand.
  private func consentResponse(_ person: FreedomIDUser, _ grants: [String]) -> [String: JSON] {
    var granted = grants
    if settings.grantsNeverAsked,
      let more = FreedomGrant.words.first(where: { !grants.contains($0) })
    {
      granted.append(more)
    }
    let other = ledger.people.first { $0.id != person.id }
    return [
      "id": .string(settings.otherAccount ? other?.id ?? "" : person.id),
      "granted": .array(granted.map { .string($0) }),
      "profile": .object(profile(person, granted)),
    ]
  }

  /// Returns the granted members of a profile, and further ones if the settings demand it.
  func profile(_ person: FreedomIDUser, _ grants: [String]) -> [String: JSON] {
    let members = person.profile.members(grants)
    guard settings.extraProfileFields else { return members }
    let everything = person.profile.members(FreedomGrant.words)
      .merging(["cards": ["4400430000001234"], "never_asked": "surplus"]) { $1 }
    return everything.merging(members) { $1 }
  }
}
