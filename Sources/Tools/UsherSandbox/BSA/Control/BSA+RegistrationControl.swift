import FoundationEssentials

/// Control calls for registrations.
extension BSABackend {
  func listRegistrations(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    return .json(["registrations": .array(members.all.map { $0.json(now) })])
  }

  /// Adds a registration without sign-up, for a test user or for any other person.
  func addRegistration(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try call.optionalObject()
      let userKey = try body.text("userKey", limit: 64) ?? freeUserKey
      let user = context.users.named(userKey)
      let name = try body.text("name") ?? user?.name ?? userKey
      let address = userKey.replacing("@", with: ".")
      let email = try body.text("email") ?? user?.email ?? "\(address)@example.com"
      let phone = try body.text("phoneNum") ?? user?.phone ?? freePhone
      let type =
        try body.number("authType", in: 0...4).map(MemberAuthType.init) ?? MemberAuthType.none
      let device =
        try body.text("deviceId").map(UUID.init)
        ?? UUID(
          uuidString: context.tokenGenerator.uuid())
      try body.finish()
      guard let email = MemberContact(.email, email) else {
        throw body.invalid("email", "is not a valid e-mail address")
      }
      guard let phone = MemberContact(.phone, phone) else {
        throw body.invalid("phoneNum", "is not a valid phone number")
      }
      guard let type else { throw body.invalid("authType", "must be 0, 3 or 4") }
      guard let device else { throw body.invalid("deviceId", "is not a UUID") }
      let now = context.clock.now()
      do throws(BSARefusal) {
        try members.checkUnique(userKey, email, phone)
      } catch {
        throw error.asConflict
      }
      let registration = MemberRegistration(
        userKey: userKey, name: name, email: email, phone: phone, registered: now, updated: now,
        device: MemberRegistration.Device(
          id: device.uuidString.lowercased(), authType: type,
          secret: context.tokenGenerator.secret(20)))
      members.add(registration)
      return .json(registration.json(now), status: 201)
    }
  }

  func changeRegistration(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let userKey = call.parameters["userKey"] ?? ""
      var body = try call.optionalObject()
      let word = try body.requiredText("state")
      try body.finish()
      guard let status = MemberRegistration.Status(rawValue: word) else {
        let words = MemberRegistration.Status.allCases.map(\.rawValue)
        throw body.invalid("state", "must be one of \(words.joined(separator: ", "))")
      }
      members.update(userKey) { $0.status = status }
      guard let registration = members[userKey] else { throw Self.noSuchMember }
      return .json(registration.json(context.clock.now()))
    }
  }

  func removeRegistration(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      guard members.remove(call.parameters["userKey"] ?? "") else { throw Self.noSuchMember }
      return .json(["ok": true])
    }
  }

  private static let noSuchMember = OAuthError(
    "not_found", "no registration has this user key", status: 404)

  private var freeUserKey: String {
    let taken = Set(members.all.map(\.userKey))
    let numbers = 1...(taken.count + 1)
    return numbers.map { "member-\($0)" }.first { !taken.contains($0) } ?? ""
  }

  /// A free phone number from a range reserved for drama; empty if all are taken.
  private var freePhone: String {
    let numbers = (500...999).map { "+447700900\($0)" }
    return numbers.first { MemberContact(.phone, $0).map { !members.has($0) } ?? false } ?? ""
  }
}

extension MemberRegistration {
  /// The registration with the present TOTP number and without the secret.
  fileprivate func json(_ now: Date) -> JSON {
    [
      "userKey": .string(userKey), "name": .string(name), "email": .string(email.text),
      "phoneNum": .string(phone.text), "authType": .integer(device.authType.rawValue),
      "deviceId": .string(device.id), "deviceName": .string(device.name),
      "appPackage": .string(device.appPackage), "appVersion": .string(device.appVersion),
      "hasPushToken": .bool(device.hasPushToken), "state": .string(status.rawValue),
      "totp": .string(device.totp.code(at: now)),
      "registeredAt": .number(registered.timeIntervalSince1970),
      "updatedAt": .number(updated.timeIntervalSince1970),
    ]
  }
}
