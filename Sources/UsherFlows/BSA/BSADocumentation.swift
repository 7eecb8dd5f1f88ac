import JSONRPC
package import UsherAPI

// The descriptions of the flows' parameters and results, for the OpenRPC document.

private let clientKeyDescription =
  "The client key that an app's SDK was configured with; must equal the configured one."

extension BSAVerifyContact.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "sendType": "The channel of the number: `email` or `sms`.",
      "sendTarget": "The e-mail address or phone number that is verified.",
      "clientKey": clientKeyDescription,
      "bundleIdentifier": "The app's bundle identifier; must equal the configured `appPackage`.",
    ]
  }
}

extension BSAVerifyContact {
  package static var resultMembers: [Schema.Member] {
    [
      .init(
        "disposeToken", .text,
        """
        A handle of the verified contact, valid for 30 minutes, for the parameter `disposeToken` \
        of `register` and `reregisterDevice`.
        """)
    ]
  }

  package static var example: FlowExample {
    .init(
      ["sendType": "email", "sendTarget": "ada@example.org"],
      result: ["disposeToken": "dispose_1"])
  }
}

private let userKeyDescription = "The user's id: 4 to 64 letters, digits and `._-@`."

extension BSAAppParams: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "disposeToken": "The handle that a `verifyContact` flow returned.",
      "pushToken": "The target of push messages.",
      "appVersion": "The version of the app; default: the configured version.",
      "clientKey": clientKeyDescription,
      "appPackage": "The app's package; must equal the configured one.",
    ]
  }
}

extension BSARegistrationFlow {
  package static var resultMembers: [Schema.Member] {
    [.userKey, .deviceID, .totpProblem, .account]
  }
}

extension BSARegisterParams {
  package static var memberDescriptions: [String: String] {
    [
      "email": "The user's e-mail address.",
      "phoneNumber": "The user's phone number.",
      "userKey": userKeyDescription,
      "name": "The user's name.",
      "authType": "How the user authenticates at this machine: `none`, `biometric` or `passcode`.",
      "agreeGccs": "Consent to BSA's terms of use. An absent value means no consent.",
      "agreePerson": "Consent to the privacy policy.",
      "agreeDevice": "Consent to the device information policy.",
      "verifyBy": "The contact by which the user is verified; default: `email`.",
      "pushToken": "The SDK's `token`: the target of push messages.",
    ]
  }

  package static var example: FlowExample {
    .init(
      [
        "email": "ada@example.org", "phoneNumber": "+821012345678", "userKey": "ada.l",
        "name": "Ada", "authType": "passcode", "agreeGccs": true, "agreePerson": true,
        "agreeDevice": true,
      ],
      result: ["userKey": "ada.l", "deviceId": "5f0c", "account": "acc_1"])
  }
}

extension BSAReregisterDeviceParams {
  package static var memberDescriptions: [String: String] {
    [
      "userKey": userKeyDescription,
      "name": "The user's name.",
      "verifyBy": "The contact by which the user is verified: `email` or `sms`.",
      "verifyData": "The user's registered e-mail address or phone number.",
      "authType": """
      How the user authenticates at this machine: `none`, `biometric` or `passcode`. Default: \
      the registered method.
      """,
    ]
  }

  package static var example: FlowExample {
    .init(
      ["userKey": "ada.l", "name": "Ada", "verifyBy": "email", "verifyData": "ada@example.org"],
      result: ["userKey": "ada.l", "deviceId": "5f0c", "account": "acc_1"])
  }
}

extension BSAAuthenticate.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "account": "The registered account; default: the caller's only account.",
      "by": """
      The way of the sign-in: `push` (a site requests it), `qr` (a site shows a QR code), `otp` \
      (the user types a number from the provider at a site) or `totp` (the user types a code of \
      the account's authenticator secret at a site). Default: `push`.
      """,
      "qrId": "The content of the QR code that the user scanned; if absent, the flow asks for it.",
      "clientKey": clientKeyDescription,
    ]
  }
}

extension BSAAuthenticate {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["by": "qr", "qrId": "qr-1"], result: ["account": "acc_1"])
  }
}
