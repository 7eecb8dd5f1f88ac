import JSONRPC
package import UsherConfig
package import UsherCore

/// A call to BSA (provider contract §5.3; page BSA in Usher.docc, § The wire).
package enum BSACall: ProviderCall {
  case duplicateCheck(BSAContact)
  case idCheck(userKey: String)
  /// Sends a verification number to an e-mail address or phone number.
  case send(BSAContact)
  /// Sends a verification number to a contact that must be the registered user's own.
  case sendToMember(BSAMember, BSAContact)
  case verify(BSAContact, number: Secret)
  case signUp(BSAEnrolment, disposeToken: Secret)
  /// Replaces the device that the user has registered by this machine.
  case replaceDevice(BSAEnrolment, disposeToken: Secret)
  case deviceCheck(device: String)
  /// Asks whether a site waits for this device to confirm a sign-in.
  case exists(device: String, userKey: String)
  case start(BSASignInSession, userKey: String)
  /// Confirms the sign-in.
  ///
  /// - Parameter isProved: Whether the user was authenticated on this machine.
  case complete(BSASignInSession, isProved: Bool)
  case result(BSASignInSession, channel: Secret)
  case cancel(BSASignInSession)
  /// Requests a number that the user types at a site.
  case generateNumber(userKey: String, device: String)
  case dropNumber(Secret)

  package var name: String {
    switch self {
    case .duplicateCheck: "duplicate_check"
    case .idCheck: "id_check"
    case .send(let contact): contact.channel == .email ? "mail" : "sms"
    case .sendToMember: "send_otp"
    case .verify(let contact, number: _): contact.channel == .email ? "mail_verify" : "sms_verify"
    case .signUp: "users"
    case .replaceDevice: "device"
    case .deviceCheck: "device_check"
    case .exists: "auth_exist"
    case .start, .result, .cancel: "auth"
    case .complete: "auth_complete"
    case .generateNumber: "otp_generate"
    case .dropNumber: "otp"
    }
  }
}

/// The registered user whose own contact must be verified.
package struct BSAMember: Codable, Sendable, Equatable {
  let userKey: String
  let name: String
}

/// The user and the device of a registration at BSA.
package struct BSAEnrolment: Codable, Sendable, Equatable {
  let userKey: String
  let name: String
  /// The contact by which the user was verified.
  let contact: BSAContact
  /// The e-mail address of a new user; nil if the user is already registered at BSA.
  let email: String?
  let phoneNumber: String?
  var authType: BSAAuthType
  /// The app's token for push messages, which BSA sends to this device.
  let pushToken: String?
  let appVersion: String
  let device: String
}

/// A sign-in in progress at BSA.
package struct BSASignInSession: Codable, Sendable, Equatable {
  let device: String
  /// The client key of the site that requested the sign-in; nil if the calls carry the daemon's own
  /// client key.
  var site: Sealed<Secret>?
  /// The content of the QR code that the user scanned.
  var qrID: String?
}

extension BSACall {
  package func render(_ context: RenderContext<BSASettings>) throws(UsherError) -> HTTPRequest {
    let key = try context.requiredCredential()
    let wire = BSAWire(settings: context.provider.settings, clientKey: key)
    let paths = wire.settings.paths
    func url(_ path: ProviderPath) -> String { path.url(under: wire.settings.baseURL) }
    switch self {
    case .duplicateCheck(let contact):
      return wire.query(
        .get, url(paths.duplicateCheck),
        [("verifyType", contact.verifyType), ("verifyData", contact.target)])
    case .idCheck(let userKey): return wire.query(.get, url(paths.idCheck), [("userKey", userKey)])
    case .send(let contact):
      let path = contact.channel == .email ? paths.mail : paths.sms
      return wire.body(.post, url(path), contact.asked)
    case .sendToMember(let member, let contact):
      let members = member.members.merging(contact.verified) { $1 }
      return wire.body(.post, url(paths.sendOTP), members)
    case .verify(let contact, let number):
      let path = contact.channel == .email ? paths.mailVerify : paths.smsVerify
      let members = contact.member.merging(["authNum": .string(number.revealed())]) { $1 }
      return wire.body(.post, url(path), members, hiding: [number])
    case .signUp(let enrolment, let token):
      let members = wire.device(enrolment, token).merging(enrolment.user) { $1 }
      return wire.body(.post, url(paths.users), members, hiding: [token])
    case .replaceDevice(let enrolment, let token):
      let url = paths.device.url(under: wire.settings.baseURL, "userKey", enrolment.userKey)
      let members = wire.device(enrolment, token).merging(enrolment.contact.verified) { $1 }
      return wire.body(.put, url, members, hiding: [token])
    case .deviceCheck(let device):
      return wire.query(.get, url(paths.deviceCheck), [("deviceId", device)])
    case .exists(let device, let userKey):
      return wire.query(.get, url(paths.authExist), [("deviceId", device), ("userKey", userKey)])
    case .start(let session, let userKey):
      let members = session.members(["userKey": .string(userKey), "authPlatform": "CMMAPF002"])
      return wire.body(.post, url(paths.auth), members, as: session.site?.unsealed())
    case .complete(let session, let isProved):
      let members = session.members(["isSecondaryCertification": .bool(isProved)])
      return wire.body(.post, url(paths.authComplete), members)
    case .result(let session, let channel):
      return wire.query(
        .get, url(paths.auth), [("deviceId", session.device), ("channelKey", channel.revealed())],
        as: session.site?.unsealed(), hiding: [channel])
    case .cancel(let session):
      let code = session.qrID.map { [("qrId", $0)] } ?? []
      return wire.query(.delete, url(paths.auth), [("deviceId", session.device)] + code)
    case .generateNumber(let userKey, let device):
      return wire.body(
        .post, url(paths.otpGenerate), ["userKey": .string(userKey), "deviceId": .string(device)])
    case .dropNumber(let number):
      return wire.query(
        .delete, paths.otp.url(under: wire.settings.baseURL, "code", number.revealed()), [],
        hiding: [number])
    }
  }
}

/// Builds requests to BSA: GET and DELETE carry a query, others a JSON body. Each request has the
/// members `lang` and `clientKey`.
private struct BSAWire {
  let settings: BSASettings
  let clientKey: Secret

  func query(
    _ method: HTTPRequest.Method, _ url: String, _ members: [(String, String)],
    as site: Secret? = nil, hiding secrets: [Secret] = []
  ) -> HTTPRequest {
    let key = site ?? clientKey
    let common = [("lang", settings.lang), ("clientKey", key.revealed())]
    let fields = FormEncoding.encode((common + members).map { (name: $0.0, value: $0.1) })
    return .json(
      method, "\(url)?\(fields)", nil, [], hiding: [key] + secrets, resultCode: .rtCode)
  }

  func body(
    _ method: HTTPRequest.Method, _ url: String, _ members: [String: JSONValue],
    as site: Secret? = nil, hiding secrets: [Secret] = []
  ) -> HTTPRequest {
    let key = site ?? clientKey
    let common: [String: JSONValue] = [
      "lang": .string(settings.lang), "clientKey": .string(key.revealed()),
    ]
    return .json(
      method, url, members.merging(common) { $1 }, [], hiding: [key] + secrets, resultCode: .rtCode)
  }

  /// The request members that describe the device, in a sign-up and in a device replacement.
  func device(_ enrolment: BSAEnrolment, _ token: Secret) -> [String: JSONValue] {
    var members: [String: JSONValue] = [
      "name": .string(enrolment.name), "disposeToken": .string(token.revealed()),
      "otpType": .string(enrolment.contact.verifyType),
      "authType": .integer(enrolment.authType.number), "deviceId": .string(enrolment.device),
      "appPackage": .string(settings.appPackage), "appVersion": .string(enrolment.appVersion),
      // The SDK documentation gives this value, which means iOS.
      "os": "CMMDOS002", "osVersion": .string(settings.osVersion),
      "deviceManufacturer": .string(settings.deviceManufacturer),
      "deviceName": .string(settings.deviceName),
    ]
    members["token"] = enrolment.pushToken.map { .string($0) }
    return members
  }
}

extension HTTPRequest.ResultCode {
  /// `rtCode`, which is 0 for a success (contract §5.3).
  fileprivate static let rtCode = Self(member: "rtCode", success: "0")
}

extension BSAMember {
  fileprivate var members: [String: JSONValue] {
    ["userKey": .string(userKey), "name": .string(name)]
  }
}

extension BSAEnrolment {
  /// The request members that describe the user, in a sign-up.
  fileprivate var user: [String: JSONValue] {
    var members: [String: JSONValue] = [
      "userKey": .string(userKey), "agreeGccs": true, "agreePerson": true, "agreeDevice": true,
    ]
    members["email"] = email.map { .string($0) }
    members["phoneNum"] = phoneNumber.map { .string($0) }
    return members
  }
}

extension BSAContact {
  /// The contact as a pair of its type and its value, the form in which most calls name it.
  fileprivate var verified: [String: JSONValue] {
    ["verifyType": .string(verifyType), "verifyData": .string(target)]
  }

  fileprivate var member: [String: JSONValue] {
    switch channel {
    case .email: ["email": .string(target)]
    case .sms: ["phoneNum": .string(target)]
    }
  }

  fileprivate var asked: [String: JSONValue] {
    switch channel {
    case .email: member.merging(["emailType": "HTML"]) { $1 }
    case .sms: member
    }
  }
}

extension BSASignInSession {
  /// Returns the request members of a call about this sign-in: those that identify the sign-in, and
  /// `own`.
  fileprivate func members(_ own: [String: JSONValue]) -> [String: JSONValue] {
    var members = own
    members["deviceId"] = .string(device)
    members["qrId"] = qrID.map { .string($0) }
    return members
  }
}
