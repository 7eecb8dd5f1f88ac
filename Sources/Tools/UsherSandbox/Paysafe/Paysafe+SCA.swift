import FoundationEssentials

extension PaysafeBackend {
  /// Opens an event that waits for the customer to approve an operation.
  func openEvent(
    for user: User, _ operation: WalletRequestOperation?, _ settings: PaysafeBackendSettings,
    _ now: Date
  ) -> ScaEvent {
    let available = settings.availableVerifications.compactMap { SCAVerification($0) }
    return events.open(
      for: user, operation, available: available.filter { $0.isAvailable(to: user) },
      terms: settings.eventTerms, now: now)
  }

  /// Returns the response for an operation that needs approval, in the form of the settings.
  func announce(_ event: ScaEvent) -> Reply {
    let details: JSON = ["scaDetails": .object(event.details)]
    switch settings.announce {
    case .body:
      return .json(details, status: settings.announceStatus)
    case .header:
      var reply = WalletRefusal(401, "SCA_REQUIRED", "the operation requires approval").reply
      let text = Data(details.encoded()).base64EncodedString()
      reply.headers["WWW-Authenticate"] =
        #"SCA realm="Authentication", auth-param1="\#(text)""#
      return reply
    }
  }

  /// Handles `POST /auth/sca/events/{eventId}/challenges`.
  func challenge(_ call: EndpointCall) async -> Reply {
    await respondingWithWalletErrors {
      let user = try await customer(call)
      let now = context.clock.now()
      let request = try ScaLedger.ChallengeRequest(call, allowed: settings.returnUrls)
      guard request.verification.kind != nil else {
        throw WalletRefusal(
          400, "VERIFICATION_NOT_AVAILABLE", "\(request.verification.name) is not available here")
      }
      let (event, challenge) = try events.challenge(
        call.parameters["eventId"], of: user, request, now: now)
      let reply = report(
        event.json(of: challenge, action: redirectMembers(for: challenge, call), now: now), event,
        settings.challengeReply, status: 201)
      await send(challenge, of: event, language: request.language, call)
      return reply
    }
  }

  /// Handles `POST /auth/sca/events/{eventId}/attempts`.
  func attempt(_ call: EndpointCall) async -> Reply {
    await respondingWithWalletErrors {
      let user = try await customer(call)
      let request = try ScaLedger.AttemptRequest(call)
      let (event, attempt) = try events.attempt(
        call.parameters["eventId"], of: user, request, now: context.clock.now())
      let members = event.json(
        of: attempt, request.verification, id: context.tokenGenerator.token("att"))
      return report(members, event, settings.attemptReply, status: settings.attemptStatus)
    }
  }

  /// Handles `GET /auth/sca/events/{eventId}`.
  func readEvent(_ call: EndpointCall) async -> Reply {
    await respondingWithWalletErrors {
      let user = try await customer(call)
      let now = context.clock.now()
      let event = try events.event(call.parameters["eventId"], of: user, now: now)
      if case .pending = event.state, event.expires <= now {
        throw WalletRefusal(410, "EVENT_EXPIRED", "the event has expired")
      }
      let action = event.openChallenge(at: now).flatMap { redirectMembers(for: $0, call) }
      return report(event.json(action: action, now: now), event, settings.eventReply)
    }
  }

  /// Returns a response about an event with its counters. Uses up `nextCounters`.
  private func report(
    _ members: [String: JSON], _ event: ScaEvent, _ overrides: [String: JSON], status: Int = 200
  ) -> Reply {
    var members = members
    if !settings.omitCounters {
      let nextCounters = settings.nextCounters.mapValues { JSON.integer($0) }
      members.merge(event.countersJSON.merging(nextCounters) { $1 }) { $1 }
      settings.nextCounters = [:]
    }
    return .json(.object(members.applying(overrides: overrides)), status: status)
  }

  private func redirectMembers(for challenge: ScaEvent.Challenge, _ call: EndpointCall) -> [String:
    JSON]?
  {
    guard challenge.verification.kind == .redirect else { return nil }
    return ["redirectUrl": .string("\(call.base)\(Self.path)/redirect/\(challenge.id)")]
  }

  private func send(
    _ challenge: ScaEvent.Challenge, of event: ScaEvent, language: String?, _ call: EndpointCall
  ) async {
    let texts = ScaTexts(language: language)
    let summary = event.operation?.summary
    let text = challenge.code.map { texts.code($0, for: summary) } ?? ""
    switch challenge.verification.kind {
    case .sms:
      await context.outbox.post(
        Message(
          provider: "paysafe", channel: .sms, to: event.user.phone ?? "", text: text,
          code: challenge.code))
    case .email:
      await context.outbox.post(
        Message(
          provider: "paysafe", channel: .email, to: event.user.email, subject: texts.subject,
          text: text, code: challenge.code))
    case .push:
      let page = "\(call.base)\(Self.path)/push/\(challenge.id)"
      await context.outbox.post(
        Message(
          provider: "paysafe", channel: .push, to: event.user.username,
          text: texts.push(page, for: summary)))
    case .authenticator, .pin, .password, .redirect, nil: break
    }
  }
}
