import FoundationEssentials

/// Control calls that change state.
extension FreedomIDBackend {
  func readSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors { .json(try JSON(encoding: settings)) }
  }

  func changeSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      settings = try settings.changed(by: try call.settingChanges())
      return .json(try JSON(encoding: settings))
    }
  }

  func resetSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      settings = FreedomIDBackendSettings()
      return .json(try JSON(encoding: settings))
    }
  }

  /// Turns a person's second factor on or off.
  func changePerson(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      guard let person = ledger.person(named: call.parameters["username"] ?? "") else {
        throw OAuthError("not_found", "no account has this name", status: 404)
      }
      var body = try call.optionalObject()
      let word = try body.requiredText("twoFactor")
      try body.finish()
      let channel = FreedomChannel(rawValue: word)
      guard word == "off" || channel != nil else {
        throw body.invalid("twoFactor", "must be off, sms, email or totp")
      }
      if let channel, channel != .totp, person.address(channel) == nil {
        throw body.invalid(
          "twoFactor", "needs a phone number or e-mail address, which this account lacks")
      }
      ledger.change(person.id) { $0.twoFactor = channel }
      return .json(ledger.person(person.id)?.json(context.clock.now()) ?? .null)
    }
  }

  /// Issues tokens of the partner API without a page.
  func issueToken(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try call.optionalObject()
      let person = try person(&body)
      let words = body.remove("grants")
      try body.finish()
      var grants = FreedomGrant.partnerWords
      if case .array(let values)? = words {
        grants = values.compactMap(\.text)
        guard grants.count == values.count, grants.allSatisfy(FreedomGrant.partnerWords.contains)
        else { throw body.invalid("grants", "contains an unknown grant") }
      }
      let token = ledger.issue(
        .partner(grants: grants), to: person.id, settings, now: context.clock.now())
      return .json(.object(token.members), status: 201)
    }
  }

  func expireTokens(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try call.optionalObject()
      let kind = try body.text("kind") ?? "access"
      try body.finish()
      guard ["access", "all"].contains(kind) else {
        throw body.invalid("kind", "must be access or all")
      }
      let now = context.clock.now()
      ledger.tokens.updateAll {
        $0.accessExpires = now
        if kind == "all" { $0.refreshExpires = now }
      }
      return .json(["ok": true])
    }
  }

  func revokeAll(_ call: EndpointCall) async -> Reply {
    ledger.tokens.updateAll { $0.isEnded = true }
    return .json(["ok": true])
  }

  func unlock(_ call: EndpointCall) async -> Reply {
    logins.unlock()
    return .json(["ok": true])
  }

  /// Sets the state of a profile request, such as the person's decision.
  func settleRequest(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try call.optionalObject()
      let word = try body.requiredText("status")
      try body.finish()
      guard let state = FreedomRequest.State(rawValue: word == "accepted" ? "completed" : word)
      else {
        throw body.invalid(
          "status",
          "must be pending, accepted, completed, rejected, failed or not_found")
      }
      let id = call.id?.lowercased()
      let now = context.clock.now()
      guard
        let request = ledger.requests.listing.last(where: {
          $0.value.id.lowercased() == id && $0.expires > now
        }),
        let settled = ledger.setState(request.key, state, settings, now: now)
      else { throw OAuthError("not_found", "there is no such request", status: 404) }
      return .json(settled.json)
    }
  }

  /// Logs a person out of the partner. Without `username` and `tokenId`, it is the first person.
  func logOut(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try call.optionalObject()
      let tokenID = try body.text("tokenId")
      let person = tokenID == nil ? try person(&body) : nil
      try body.finish()
      var (ended, reported) = await endPartnerTokens {
        $0.id == tokenID || $0.person == person?.id
      }
      // Reporting an unknown id too lets a test see how the partner handles it.
      if let tokenID, ended.isEmpty, let revocation = await reportRevocation(of: tokenID) {
        ended = []
        reported = [revocation]
      }
      return .json([
        "ended": .array(ended.map { .string($0) }), "answers": .array(reported.map(\.json)),
      ])
    }
  }

  /// Reads `username` and returns that person; without it, the first person.
  private func person(_ body: inout ObjectReader) throws(OAuthError) -> FreedomIDUser {
    let username = try body.text("username")
    guard let person = username.map({ ledger.person(named: $0) }) ?? ledger.people.first else {
      throw body.invalid("username", "is not in GET /_control/freedomid/people")
    }
    return person
  }
}
