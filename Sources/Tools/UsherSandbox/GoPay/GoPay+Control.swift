import FoundationEssentials

extension GoPayBackend {
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
      settings = GoPayBackendSettings()
      return .json(try JSON(encoding: settings))
    }
  }

  func readKey(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let pair = try key.pair()
      return .json([
        "privateKey": .string(pair.privateKey), "publicKey": .string(pair.publicKey),
      ])
    }
  }

  func changeKey(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try ObjectReader(try? JSON(parsing: call.body))
      let pem = try body.requiredText("publicKey", limit: 8192)
      try body.finish()
      try key.register(pem)
      return .json(["ok": true])
    }
  }

  func forgetKey(_ call: EndpointCall) async -> Reply {
    key.forget()
    return .json(["ok": true])
  }

  func listPeople(_ call: EndpointCall) async -> Reply {
    let people = ledger.people.map { person in
      JSON.object([
        "username": .string(person.username), "phone": .string(person.phone),
        "name": .string(person.name), "pin": person.pin.map { .string($0) } ?? .null,
      ])
    }
    return .json(["people": .array(people)])
  }

  func listCodes(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    return .json(["codes": .array(ledger.codes.values.map { $0.json(now) })])
  }

  /// Issues an auth code without a log-in.
  func issueCode(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try call.optionalObject()
      let person = try person(&body)
      try body.finish()
      let code = ledger.issueCode(
        person, .control, seconds: settings.authCodeSeconds, now: context.clock.now())
      return .json(["authCode": .string(code)], status: 201)
    }
  }

  /// Redeems an auth code like a partner's backend, but without SNAP.
  func redeem(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try ObjectReader(try? JSON(parsing: call.body))
      let text = try body.requiredText("authCode")
      try body.finish()
      let token = try redeemed(text, context.clock.now())
      let code = ledger.codes.value(text, now: context.clock.now())
      var members: [String: JSON] = ["token": .string(token)]
      members["username"] = code.map { .string($0.person.username) }
      members["phone"] = code.map { .string($0.person.phone) }
      if case .token(let correlation) = code?.source {
        members["userCorrelationId"] = .string(correlation)
      }
      return .json(.object(members))
    }
  }

  /// Redeems an auth code for a linking token; throws a refusal that says why it cannot.
  func redeemed(_ code: String, _ now: Date) throws(OAuthError) -> String {
    do {
      return try ledger.redeem(code, settings, now: now).token
    } catch {
      throw OAuthError(
        "invalid_grant",
        error == .closed ? "the account is closed" : "the auth code is unknown, used or expired",
        status: 404)
    }
  }

  func listTokens(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    let tokens = ledger.links.listing.map { $0.value.json(expires: $0.expires, now) }
    return .json(["tokens": .array(tokens)])
  }

  /// Issues a linking token without a log-in.
  func issueToken(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try call.optionalObject()
      let person = try person(&body)
      let term = try body.text("term") ?? "long"
      let text = try body.text("token", limit: 4096)
      let isWhitelisted = try body.flag("whitelisted") ?? true
      try body.finish()
      guard let term = GoPayLedger.Link.Term(rawValue: term) else {
        throw body.invalid("term", "must be short or long")
      }
      let token = ledger.link(
        person, term, settings, text: text, isWhitelisted: isWhitelisted,
        now: context.clock.now())
      return .json(["token": .string(token)], status: 201)
    }
  }

  func revokeAll(_ call: EndpointCall) async -> Reply {
    ledger.revokeAll()
    return .json(["ok": true])
  }

  func endB2BTokens(_ call: EndpointCall) async -> Reply {
    snap.endTokens()
    return .json(["ok": true])
  }

  func endCaptureTokens(_ call: EndpointCall) async -> Reply {
    ledger.endCaptureTokens()
    return .json(["ok": true])
  }

  /// Reads `username` and returns that person; without it, the first person.
  private func person(_ body: inout ObjectReader) throws(OAuthError) -> GoPayPerson {
    let username = try body.text("username")
    guard let person = username.map({ ledger.person(named: $0) }) ?? ledger.people.first else {
      throw body.invalid("username", "is not in GET /_control/gopay/people")
    }
    return person
  }
}

extension EndpointCall {
  /// Reads the optional JSON object in the body of a control call.
  func optionalObject() throws(OAuthError) -> ObjectReader {
    try ObjectReader(body.isEmpty ? [:] : try? JSON(parsing: body))
  }
}

extension GoPayLedger.AuthCode {
  fileprivate func json(_ now: Date) -> JSON {
    var members: [String: JSON] = [
      "id": .string(id), "username": .string(person.username), "phone": .string(person.phone),
      "issuedAt": .number(issued.timeIntervalSince1970),
      "expiresAt": .number(expires.timeIntervalSince1970), "state": .string(state(now: now)),
    ]
    switch source {
    case .login: members["source"] = "login"
    case .control: members["source"] = "control"
    case .token(let correlation):
      members["source"] = "token"
      members["userCorrelationId"] = .string(correlation)
    }
    return .object(members)
  }
}

extension GoPayLedger.Link {
  fileprivate func json(expires: Date, _ now: Date) -> JSON {
    [
      "id": .string(id), "username": .string(person.username), "phone": .string(person.phone),
      "term": .string(term.rawValue), "whitelisted": .bool(isWhitelisted),
      "state": .string(state == .live && expires <= now ? "expired" : state.rawValue),
    ]
  }
}
