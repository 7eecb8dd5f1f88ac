import FoundationEssentials

/// The device's requests about a sign-in that waits for it.
extension BSABackend {
  func authExist(_ call: EndpointCall) async -> Reply {
    await envelope("authExist", call) {
      let sent = try BSAParameters(call)
      let device = try sent.required("deviceId")
      let person = try self.person(try sent.userKey())
      guard person.device.id == device.lowercased() else { throw BSARefusal.deviceID }
      try person.checkActive()
      let now = context.clock.now()
      guard let signIn = signIns.waiting(for: person.userKey, now: now) else {
        return ["isExist": false]
      }
      let site = settings.siteUrl.isEmpty ? signIn.site.page(call.base) : settings.siteUrl
      let left = signIn.expires.timeIntervalSince(now) * 1000
      return [
        "isExist": true, "clientKey": .string(signIn.site.key), "siteURL": .string(site),
        "timeout": .integer(Int(left.rounded(.up))),
      ]
    }
  }

  func openChannel(_ call: EndpointCall) async -> Reply {
    await envelope("auth", call) {
      let sent = try BSAParameters(call, for: BSAClient.allCases)
      let device = try sent.required("deviceId")
      _ = try sent.choice("authPlatform", of: ["CMMAPF001", "CMMAPF002"])
      let person = try self.person(try sent.userKey())
      // The vendor's own app sends the user key as `deviceId`.
      guard person.device.id == device.lowercased() || person.userKey == device else {
        throw BSARefusal.deviceID
      }
      try person.checkActive()
      let channel = try signIns.open(
        person.userKey, on: person.device.id, for: sent.client, qrID: try sent.text("qrId"),
        settings, now: context.clock.now())
      return ["channelKey": .string(channel.key), "blockKey": .string(channel.blockKey)]
    }
  }

  func complete(_ call: EndpointCall) async -> Reply {
    await envelope("authComplete", call) {
      let sent = try BSAParameters(call)
      let device = try registeredDevice(sent)
      let localAuth = try sent.flag("isSecondaryCertification")
      let now = context.clock.now()
      let signIn = try signIns.opened(on: device, qrID: try sent.text("qrId"), now: now)
      let person = try self.person(signIn.userKey ?? "")
      try person.checkActive()
      guard localAuth || person.device.authType == .none || !signIn.stage.isLive else {
        throw BSARefusal.notApproved
      }
      try signIns.complete(signIn, localAuth: localAuth, settings, now: now)
      return nil
    }
  }

  func result(_ call: EndpointCall) async -> Reply {
    await envelope("authResult", call) {
      let sent = try BSAParameters(call, for: BSAClient.allCases)
      let device = try registeredDevice(sent)
      let token = try signIns.collect(
        try sent.required("channelKey"), on: device, for: sent.client, settings,
        now: context.clock.now())
      return .string(token)
    }
  }

  func cancel(_ call: EndpointCall) async -> Reply {
    await envelope("authCancel", call) {
      let sent = try BSAParameters(call)
      let device = try registeredDevice(sent)
      try signIns.cancel(
        on: device, members.on(device: device).map(\.userKey), qrID: try sent.text("qrId"),
        settings, now: context.clock.now())
      return nil
    }
  }

  func generateNumber(_ call: EndpointCall) async -> Reply {
    await envelope("otpGenerate", call) {
      let sent = try BSAParameters(call)
      let device = try sent.required("deviceId")
      let person = try self.person(try sent.userKey())
      guard person.device.id == device.lowercased() else { throw BSARefusal.deviceID }
      try person.checkActive()
      return .string(
        loginNumbers.generate(for: person.userKey, settings, now: context.clock.now()))
    }
  }

  func deleteNumber(_ call: EndpointCall) async -> Reply {
    await envelope("otp", call) {
      _ = try BSAParameters(call)
      guard loginNumbers.remove(call.parameters["code"] ?? "", now: context.clock.now()) else {
        throw BSARefusal.numberOver
      }
      return nil
    }
  }

  /// Returns the person of a sign-in's token. The `Authorization` header is the token alone.
  func me(_ call: EndpointCall) async -> Reply {
    await envelope("me", call) {
      let token = call.headers["authorization"] ?? ""
      guard let userKey = signIns.user(of: token, now: context.clock.now()),
        let person = members[userKey]
      else { throw BSARefusal.token }
      try person.checkActive()
      return [
        "userKey": .string(person.userKey), "name": .string(person.name),
        "authType": .integer(person.device.authType.rawValue),
        "regDt": .string(person.registered.bsaTime),
      ]
    }
  }

  /// Returns a registration; throws 2008 if the user key is unknown.
  func person(_ userKey: String) throws(BSARefusal) -> MemberRegistration {
    guard let person = members[userKey] else { throw .notRegistered }
    return person
  }

  /// Returns the device id in lower case; throws 3007 if nobody is registered on the device.
  private func registeredDevice(_ sent: BSAParameters) throws(BSARefusal) -> String {
    let device = try sent.required("deviceId").lowercased()
    guard !members.on(device: device).isEmpty else { throw .deviceID }
    return device
  }
}
