import FoundationEssentials

extension GoPayBackend {
  /// Handles `POST /gopay-id/sdk/v1/auth-code`.
  func authCode(_ call: EndpointCall) async -> Reply {
    await respondingWithIdentityErrors {
      let now = context.clock.now()
      let (person, _) = try holder(call, now)
      var body = try call.postedObject()
      try body.expectClient()
      let correlation = try body.requiredText("userCorrelationId")
      try body.finish()
      let code = ledger.issueCode(
        person, .token(userCorrelationID: correlation), seconds: settings.authCodeSeconds, now: now)
      return .identity(["authCode": .string(code)], settings.authCodeReply)
    }
  }

  /// Handles `POST /gopay-id/sdk/v1/token`.
  func sessionToken(_ call: EndpointCall) async -> Reply {
    await respondingWithIdentityErrors {
      let now = context.clock.now()
      try call.checkMerchant()
      try call.checkCorrelation()
      var body = try call.postedObject()
      try body.expectClient()
      let text = try body.requiredText("authCode")
      try body.finish()
      guard let code = ledger.codes.value(text, now: now), !settings.isClosed(code.person) else {
        throw IdentityRefusal.token
      }
      switch code.state {
      case .waiting where code.expires <= now: throw IdentityRefusal.token
      case .waiting: throw IdentityRefusal.notRedeemed
      case .redeemed(let link):
        let token = ledger.issueCaptureToken(
          code.person, link: link, seconds: settings.captureTokenSeconds, now: now)
        return .identity(["token": .string(token)], settings.sessionTokenReply)
      }
    }
  }

  /// Handles `GET /forward/gopay-id/identity/v1/gopay-id/token`.
  func temporaryToken(_ call: EndpointCall) async -> Reply {
    await respondingWithIdentityErrors {
      let now = context.clock.now()
      let (person, link) = try holder(call, now)
      let token = ledger.issueCaptureToken(
        person, link: link, seconds: settings.captureTokenSeconds, now: now)
      return .identity(["token": .string(token)], settings.temporaryTokenReply)
    }
  }

  /// Handles `GET /forward/gopay-id/kyc/inbound/v1/users/submissions/current`.
  func currentSubmission(_ call: EndpointCall) async -> Reply {
    await respondingWithIdentityErrors {
      let now = context.clock.now()
      let (person, _) = try holder(call, now)
      guard let submission = ledger.lastSubmitted(by: person) else {
        throw IdentityRefusal.noSubmission
      }
      return .identity(submission.identityRecord(settings, now: now), settings.currentReply)
    }
  }

  /// Returns the linking token, which is the whole `Authorization` header, and its person.
  private func holder(_ call: EndpointCall, _ now: Date) throws -> (GoPayPerson, token: String) {
    try call.checkMerchant()
    try call.checkCorrelation()
    let token = try call.identityHeader("authorization")
    return (try ledger.holder(of: token, settings, now: now), token)
  }
}

extension ObjectReader {
  /// Reads `clientId`, which must be the registered client.
  fileprivate mutating func expectClient() throws {
    guard try requiredText("clientId") == GoPayPartner.clientID else {
      throw IdentityRefusal.notWhitelisted
    }
  }
}
