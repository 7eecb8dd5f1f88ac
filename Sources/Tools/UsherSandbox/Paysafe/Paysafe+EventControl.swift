import FoundationEssentials

extension PaysafeBackend {
  func listEvents(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    return .json(["events": .array(events.all(now).map { shown($0, now) })])
  }

  func showEvent(_ call: EndpointCall) async -> Reply {
    await respondingWithWalletErrors {
      let now = context.clock.now()
      return .json(shown(try events.event(call.id, of: nil, now: now), now))
    }
  }

  /// Opens an event without an operation. Its approval permits no operation.
  func openEvent(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let now = context.clock.now()
      var body = try ObjectReader(call.body.isEmpty ? [:] : try? JSON(parsing: call.body))
      let user = try user(try body.text("username") ?? "alice")
      let id = try body.text("eventId")
      let walletOperationID = try body.text("walletOperationId")
      let available = try body.verifications(settings)
      let terms = try body.terms(settings.eventTerms)
      try body.finish()
      let event = events.open(
        for: user, nil, id: id, walletOperationID: walletOperationID, available: available,
        terms: terms, now: now)
      return .json(shown(event, now), status: 201)
    }
  }

  func changeEvent(_ call: EndpointCall) async -> Reply {
    await respondingWithWalletErrors {
      let now = context.clock.now()
      let event = try events.event(call.id, of: nil, now: now)
      var body = try ObjectReader(try? JSON(parsing: call.body))
      let counts = PaysafeBackendSettings.counts
      let challenges = try body.number("currentChallenges", in: counts)
      let allowableChallenges = try body.number("allowableChallenges", in: counts)
      let attempts = try body.number("currentAttempts", in: counts)
      let allowableAttempts = try body.number("allowableAttempts", in: counts)
      let expiring = try body.text("expire")
      guard [nil, "event", "challenge"].contains(expiring) else {
        throw body.invalid("expire", "must be event or challenge")
      }
      try body.finish()
      events.change(event.id) { event in
        event.currentChallenges = challenges ?? event.currentChallenges
        event.currentAttempts = attempts ?? event.currentAttempts
        event.terms.allowableChallenges = allowableChallenges ?? event.terms.allowableChallenges
        event.terms.allowableAttempts = allowableAttempts ?? event.terms.allowableAttempts
        if expiring == "event" { event.expires = now }
        if expiring == "challenge" { event.expireChallenge(now) }
      }
      return .json(shown(try events.event(event.id, of: nil, now: now), now))
    }
  }

  /// Decides a push or redirect challenge without its page.
  func decideEvent(_ call: EndpointCall) async -> Reply {
    await respondingWithWalletErrors {
      let now = context.clock.now()
      let event = try events.event(call.id, of: nil, now: now)
      var body = try ObjectReader(try? JSON(parsing: call.body))
      guard let approve = try body.flag("approve") else {
        throw body.invalid("approve", "is missing")
      }
      try body.finish()
      guard let decided = events.decide(event.id, approve: approve, now: now) else {
        throw WalletRefusal(409, "CHALLENGE_REQUIRED", "no push or redirect awaits a decision")
      }
      return .json(shown(decided.event, now))
    }
  }

  /// Returns an event as the wallet API shows it, with further members that only tests see.
  private func shown(_ event: ScaEvent, _ now: Date) -> JSON {
    var members = event.json(action: nil, now: now).merging(event.countersJSON) { $1 }
    members["username"] = .string(event.user.username)
    members["operation"] = event.operation.map { operation in
      [
        "method": .string(operation.method), "path": .string(operation.path),
        "summary": .string(operation.summary), "digest": .string(operation.digest),
      ]
    }
    members["used"] = .bool(event.state == .verified(isUsed: true))
    return .object(members)
  }
}

extension ObjectReader {
  fileprivate mutating func verifications(
    _ settings: PaysafeBackendSettings
  ) throws(OAuthError) -> [SCAVerification] {
    guard let json = remove("availableVerifications") else {
      return settings.availableVerifications.compactMap { SCAVerification($0) }
    }
    guard case .array(let names) = json else {
      throw invalid("availableVerifications", "is not a list")
    }
    return try names.map { name throws(OAuthError) in
      guard let verification = name.text.flatMap({ SCAVerification($0) }) else {
        throw invalid("availableVerifications", "must contain strings like OTP.SMS")
      }
      return verification
    }
  }

  fileprivate mutating func terms(_ standard: ScaEvent.Terms) throws(OAuthError) -> ScaEvent.Terms {
    let counts = PaysafeBackendSettings.counts
    let seconds = PaysafeBackendSettings.seconds
    return ScaEvent.Terms(
      eventSeconds: try number("eventSeconds", in: seconds) ?? standard.eventSeconds,
      challengeSeconds: try number("challengeSeconds", in: seconds) ?? standard.challengeSeconds,
      coolDownSeconds: try number("coolDownSeconds", in: seconds) ?? standard.coolDownSeconds,
      allowableChallenges: try number("allowableChallenges", in: counts)
        ?? standard.allowableChallenges,
      allowableAttempts: try number("allowableAttempts", in: counts)
        ?? standard.allowableAttempts)
  }
}
