import FoundationEssentials

extension GoPayBackend {
  /// Handles `POST /v1.0/access-token/b2b`.
  func b2b(_ call: EndpointCall) async -> Reply {
    await respondingWithSnapErrors(.b2b) {
      let now = context.clock.now()
      let client = try call.snapHeader("X-CLIENT-KEY", .b2b)
      let timestamp = try call.snapHeader("X-TIMESTAMP", .b2b)
      let signature = try call.snapHeader("X-SIGNATURE", .b2b)
      var body = try call.postedObject()
      guard try body.requiredText("grantType") == "client_credentials" else {
        throw body.invalid("grantType", "is not client_credentials")
      }
      try body.finish()
      guard client == GoPayPartner.clientID else {
        throw SnapService.b2b.unauthorized("Unauthorized. X-CLIENT-KEY is not known")
      }
      try checkTime(timestamp, .b2b, now)
      guard key.isValid(signature, over: "\(client)|\(timestamp)") else {
        throw SnapService.b2b.unauthorized("Unauthorized. Signature")
      }
      let token = snap.issueToken(seconds: settings.b2bSeconds, now: now)
      // The vendor writes this number as a string.
      let members = SnapService.b2b.success([
        "accessToken": .string(token), "tokenType": "Bearer",
        "expiresIn": .string(String(settings.b2bSeconds)),
      ])
      return .json(.object(members.applying(overrides: settings.b2bReply)))
    }
  }

  /// Handles `POST /v1.0/registration-account-binding`.
  func bind(_ call: EndpointCall) async -> Reply {
    await respondingWithSnapErrors(.binding) {
      let now = context.clock.now()
      try authenticate(call, .binding, now)
      var body = try call.postedObject()
      try checkMerchant(try body.requiredText("merchantId"), .binding)
      let code = try body.requiredText("authCode")
      guard try body.requiredText("grantType") == "AUTHORIZATION_CODE" else {
        throw body.invalid("grantType", "is not AUTHORIZATION_CODE")
      }
      try body.finish()
      let token: String
      do {
        token = try ledger.redeem(code, settings, now: now).token
      } catch GoPayLedger.Failure.closed {
        throw SnapService.binding.refusal(404, "05", "Do Not Honor. There is no such user")
      } catch GoPayLedger.Failure.unknown {
        throw SnapService.binding.refusal(404, "11", "Invalid Auth Code")
      }
      let members = SnapService.binding.success([
        "referenceNo": .string(ledger.nextID("ref")),
        "accessTokenInfo": ["accessToken": .string(token)],
      ])
      return .json(.object(members.applying(overrides: settings.bindingReply)))
    }
  }

  /// Handles `POST /v1.0/registration-account-unbinding`.
  func unbind(_ call: EndpointCall) async -> Reply {
    await respondingWithSnapErrors(.unbinding) {
      let now = context.clock.now()
      let customer = try call.snapHeader("Authorization-Customer", .unbinding)
      _ = try call.snapHeader("X-DEVICE-ID", .unbinding)
      try authenticate(call, .unbinding, now)
      var body = try call.postedObject()
      try checkMerchant(try body.requiredText("merchantId"), .unbinding)
      try body.finish()
      do {
        try ledger.unbind(customer.afterBearer ?? "", settings, now: now)
      } catch GoPayLedger.Failure.closed {
        throw SnapService.unbinding.refusal(404, "05", "Do Not Honor. The account is not bound")
      } catch GoPayLedger.Failure.unknown {
        throw SnapService.unbinding.refusal(401, "02", "Invalid Customer Token")
      }
      let members = SnapService.unbinding.success()
      return .json(.object(members.applying(overrides: settings.unbindingReply)))
    }
  }

  /// Checks the token, partner, channel, time, signature and `X-EXTERNAL-ID` of a request.
  private func authenticate(_ call: EndpointCall, _ service: SnapService, _ now: Date)
    throws(SnapRefusal)
  {
    let authorization = try call.snapHeader("Authorization", service)
    let timestamp = try call.snapHeader("X-TIMESTAMP", service)
    let signature = try call.snapHeader("X-SIGNATURE", service)
    let partner = try call.snapHeader("X-PARTNER-ID", service)
    let externalID = try call.snapHeader("X-EXTERNAL-ID", service)
    let channel = try call.snapHeader("CHANNEL-ID", service)
    guard let token = authorization.afterBearer, snap.isToken(token, now: now) else {
      throw service.refusal(401, "01", "Invalid Token (B2B)")
    }
    guard partner == GoPayPartner.clientID else {
      throw service.unauthorized("Unauthorized. X-PARTNER-ID is not known")
    }
    guard channel == GoPayPartner.channelID else {
      throw service.unauthorized("Unauthorized. CHANNEL-ID is not known")
    }
    try checkTime(timestamp, service, now)
    let text = SnapSignature.text(
      call.method.rawValue, path: call.path, accessToken: token,
      bodyDigest: SnapSignature.digest(call.body), timestamp: timestamp)
    guard SnapSignature.isValid(signature, over: text, secret: GoPayPartner.clientSecret) else {
      throw service.unauthorized("Unauthorized. Signature")
    }
    guard (1...36).contains(externalID.utf8.count),
      externalID.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { throw service.field("X-EXTERNAL-ID is not 1 to 36 digits") }
    guard snap.use(externalID: externalID, now: now) else {
      throw service.refusal(409, "00", "Conflict. X-EXTERNAL-ID was already used")
    }
  }

  private func checkTime(
    _ timestamp: String, _ service: SnapService, _ now: Date
  ) throws(SnapRefusal) {
    guard let time = SnapTimestamp(timestamp) else {
      throw service.unauthorized("Unauthorized. X-TIMESTAMP is not like 2026-11-21T23:50:00+07:00")
    }
    guard abs(time.date.timeIntervalSince(now)) <= Double(settings.skewSeconds) else {
      throw service.unauthorized("Unauthorized. X-TIMESTAMP differs too much from server time")
    }
  }

  private func checkMerchant(_ id: String, _ service: SnapService) throws(SnapRefusal) {
    guard id == GoPayPartner.merchantID else {
      throw service.unauthorized("Unauthorized. merchantId is not known")
    }
  }
}

extension EndpointCall {
  fileprivate func snapHeader(
    _ name: String, _ service: SnapService
  ) throws(SnapRefusal) -> String {
    guard let value = headers[name.lowercased()], !value.isEmpty else {
      throw service.field("Invalid Mandatory Field \(name)")
    }
    return value
  }
}
