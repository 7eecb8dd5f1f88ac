import FoundationEssentials

/// The device API of the SDK: log-ins.
extension FreedomIDBackend {
  /// Handles `GET /openapi.json`: the description of the device API.
  func openAPI(_ call: EndpointCall) async -> Reply {
    Reply(
      status: 200, headers: ["Content-Type": "application/json"],
      body: PackageResources.device_api_openapi_json)
  }

  func accounts(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let accounts = ledger.people(boundTo: try device(call)).map { JSON.object($0.account) }
      let members: [String: JSON] = ["accounts": .array(accounts)]
      return .json(.object(members.applying(overrides: settings.accountsReply)))
    }
  }

  func beginOTP(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let device = try device(call)
      var body = try FreedomBody(call)
      let name = LoginIdentifier.phone(body.required("phone", .phone))
      try body.finish()
      let challenge = try logins.otp(
        name, ledger.person(knownAs: name), at: device, settings, now: context.clock.now())
      return await answer(challenge)
    }
  }

  func verifyOTP(_ call: EndpointCall) async -> Reply { await verify(.otp, call) }

  func verifyTwoFactor(_ call: EndpointCall) async -> Reply { await verify(.twoFactor, call) }

  func password(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let device = try device(call)
      var body = try FreedomBody(call)
      let phone = body.text("phone", .phone)
      let email = body.text("email", .email)
      let password = body.required("password", .secret)
      if body.errors.isEmpty, (phone == nil) == (email == nil) {
        body.addError("phone", "or email is required, but not both")
      }
      try body.finish()
      let name =
        phone.map { LoginIdentifier.phone($0) } ?? .email((email ?? "").lowercased())
      let outcome = try logins.password(
        password, of: name, ledger.person(knownAs: name), at: device, settings,
        now: context.clock.now())
      return await answer(outcome, device)
    }
  }

  func resend(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let device = try device(call)
      var body = try FreedomBody(call)
      let id = body.required("challenge_id", .uuid)
      try body.finish()
      let (challenge, isNew) = try logins.resend(
        id, at: device, settings, now: context.clock.now())
      return await answer(challenge, sending: isNew)
    }
  }

  private func verify(_ purpose: IssuedChallenge.Purpose, _ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let device = try device(call)
      var body = try FreedomBody(call)
      let id = body.required("challenge_id", .uuid)
      let code = body.required("code", .secret)
      try body.finish()
      let ledger = ledger
      let outcome = try logins.verify(
        code, of: id, purpose, at: device, settings, now: context.clock.now()
      ) { ledger.person($0) }
      return await answer(outcome, device)
    }
  }

  private func answer(_ outcome: FreedomLogins.Outcome, _ device: String) async -> Reply {
    switch outcome {
    case .loggedIn(let person):
      let token = ledger.bind(person.id, to: device, settings, now: context.clock.now())
      let members = token.members.merging(["account": .object(person.account)]) { $1 }
      return .json(.object(members.applying(overrides: settings.loginReply)))
    case .twoFactor(let challenge):
      await send(challenge)
      let members = challenge.members.applying(overrides: settings.challengeReply)
      return .json(["two_factor": .object(members)])
    }
  }

  private func answer(_ challenge: IssuedChallenge, sending: Bool = true) async -> Reply {
    if sending { await send(challenge) }
    return .json(.object(challenge.members.applying(overrides: settings.challengeReply)))
  }

  func send(_ challenge: IssuedChallenge) async {
    guard let message = challenge.message else { return }
    await context.outbox.post(message)
  }

  /// Checks the API key and returns the id of the calling device.
  func device(_ call: EndpointCall) throws(FreedomRefusal) -> String {
    switch call.headers["x-api-key"] {
    case FreedomPartner.apiKey: break
    case FreedomPartner.otherKey: throw .otherClient
    default: throw .apiKey
    }
    guard let device = call.headers["x-device-id"], FreedomFormat.uuid.fits(device),
      settings.knowsDevices
    else { throw .device }
    return device.lowercased()
  }
}

extension FreedomIDUser {
  fileprivate var account: [String: JSON] { ["id": .string(id), "label": .string(label)] }
}
