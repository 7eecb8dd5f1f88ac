import UsherKit

struct DeviceRegistration {
  let clientKey: String
  let bundleIdentifier: String
  /// Asks the person for the OTP number from the e-mail.
  let ask: () async -> String

  /// Verifies an e-mail address, and returns the disposeToken for the sign-up.
  func verify(_ email: String) async throws -> String {
    try await BSA.APICaller.requestSendOTPNumber(
      sendType: .Email, sendTarget: email, clientKey: clientKey,
      bundleIdentifier: bundleIdentifier)
    while true {
      let disposeToken = try await BSA.APICaller.verifyOTPNumber(
        sendType: .Email, sendTarget: email, otpNumber: await ask(), clientKey: clientKey)
      if let disposeToken { return disposeToken }
      print("wrong OTP number")
    }
  }

  /// Registers the person and this device.
  func register(
    email: String, phoneNumber: String, userKey: String, name: String
  ) async throws {
    guard try await BSA.APICaller.checkUserKeyAvailable(userKey: userKey) else {
      throw BSAError.failed(rtCode: 2009, message: "this user key is taken")
    }
    let disposeToken = try await verify(email)
    try await BSA.LocalAuth.startSimpleAuth(
      localAuthType: .PASSCODE, reason: "register as \(userKey)",
      checkDomainStateChanged: false, usePasscodeWhenFailed: false)
    try await BSA.APICaller.requestSignUp(
      userData: BSA.SignUpData.UserData(
        appPackage: bundleIdentifier, clientKey: clientKey, appVersion: "1.0.0", token: "",
        email: email, phoneNumber: phoneNumber, userKey: userKey, name: name,
        authType: .PASSCODE, disposeToken: disposeToken, agreeGccs: true, agreePerson: true,
        agreeDevice: true))
    print("registered:", BSA.loadUserKey() ?? userKey)
  }
}
