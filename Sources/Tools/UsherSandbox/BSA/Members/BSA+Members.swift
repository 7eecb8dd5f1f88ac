import FoundationEssentials

/// Registration of people and devices.
extension BSABackend {
  func signUp(_ call: EndpointCall) async -> Reply {
    await envelope("users", call) {
      let sent = try BSAParameters(call)
      let email = try sent.contact(.email, "email")
      let phone = try sent.contact(.phone, "phoneNum")
      let userKey = try sent.userKey()
      let name = try sent.required("name")
      let token = try sent.required("disposeToken")
      let kind = try sent.kind("otpType")
      try Self.checkDeviceTexts(sent)
      let missing = ["agreeGccs", "agreePerson", "agreeDevice"].filter { !sent.isTrue($0) }
      guard missing.isEmpty else { throw BSARefusal.agreements(missing) }
      let device = try device(sent)
      let now = context.clock.now()
      try contacts.check(token, for: kind == .email ? email : phone, now: now)
      try members.checkUnique(userKey, email, phone)
      contacts.use(token)
      members.add(
        MemberRegistration(
          userKey: userKey, name: name, email: email, phone: phone, registered: now,
          updated: now, device: device))
      return ["secretKey": .string(Base32Encoding.text(device.secret))]
    }
  }

  func sendOTP(_ call: EndpointCall) async -> Reply {
    await envelope("sendOtp", call) {
      let sent = try BSAParameters(call)
      let person = try person(try sent.userKey(), sent)
      try await send(to: try sent.contact(try sent.kind("verifyType"), "verifyData"))
      return ["result": true, "authType": .integer(person.device.authType.rawValue)]
    }
  }

  func changeDevice(_ call: EndpointCall) async -> Reply {
    await envelope("device", call) {
      let sent = try BSAParameters(call)
      let userKey = call.parameters["userKey"] ?? ""
      _ = try sent.required("name")
      let contact = try sent.contact(try sent.kind("verifyType"), "verifyData")
      let token = try sent.required("disposeToken")
      let kind = try sent.kind("otpType")
      try Self.checkDeviceTexts(sent)
      let device = try device(sent)
      let now = context.clock.now()
      guard kind == contact.kind else { throw BSARefusal.disposeToken }
      try contacts.check(token, for: contact, now: now)
      _ = try person(userKey, sent)
      contacts.use(token)
      members.update(userKey) { registration in
        registration.device = device
        registration.updated = now
      }
      return ["secretKey": .string(Base32Encoding.text(device.secret))]
    }
  }

  func checkDevice(_ call: EndpointCall) async -> Reply {
    await envelope("deviceCheck", call) {
      let sent = try BSAParameters(call)
      guard let person = members.on(device: try sent.deviceID()).last else {
        throw BSARefusal.notRegistered
      }
      try person.checkActive()
      return [
        "userKey": .string(person.userKey), "name": .string(person.name),
        "email": .string(person.email.text), "phoneNum": .string(person.phone.text),
        "authType": .integer(person.device.authType.rawValue),
        "uptDt": .string(person.updated.bsaTime),
      ]
    }
  }

  /// Returns the registration with this user key, name and contact; throws 2008 if there is none.
  private func person(
    _ userKey: String, _ sent: BSAParameters
  ) throws(BSARefusal) -> MemberRegistration {
    let name = try sent.required("name")
    let contact = try sent.contact(try sent.kind("verifyType"), "verifyData")
    guard let person = members[userKey], person.name == name,
      person.contact(contact.kind).isSame(as: contact)
    else { throw .notRegistered }
    try person.checkActive()
    return person
  }

  /// Checks that the required parameters about the device are present.
  private static func checkDeviceTexts(_ sent: BSAParameters) throws(BSARefusal) {
    _ = try sent.choice("os", of: ["CMMDOS001", "CMMDOS002"])
    for name in [
      "authType", "deviceId", "appPackage", "osVersion", "appVersion", "deviceManufacturer",
      "deviceName",
    ] where !sent.has(name) {
      throw .parameter(name, "is missing")
    }
  }

  /// Returns the device in the parameters, with a new secret.
  private func device(_ sent: BSAParameters) throws(BSARefusal) -> MemberRegistration.Device {
    let authType = try sent.authType()
    return MemberRegistration.Device(
      id: try sent.deviceID(), authType: authType, name: try sent.required("deviceName"),
      appPackage: try sent.required("appPackage"), appVersion: try sent.required("appVersion"),
      hasPushToken: try sent.text("token", limit: 4096) != nil,
      secret: context.tokenGenerator.secret(20))
  }
}

extension Date {
  /// The time in BSA's format, `yyyy-MM-dd HH:mm:ss.SS Z`, in UTC.
  var bsaTime: String {
    let second = timeIntervalSince1970.rounded(.down)
    let hundredths = Int((timeIntervalSince1970 - second) * 100)
    let text = Date(timeIntervalSince1970: second).formatted(.iso8601)
    let whole = text.dropLast().replacing("T", with: " ")
    return "\(whole).\(hundredths < 10 ? "0" : "")\(hundredths) +0000"
  }
}
