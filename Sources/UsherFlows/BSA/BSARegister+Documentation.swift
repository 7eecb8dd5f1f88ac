import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension BSARegister.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "email": "The user's e-mail address.",
      "phoneNumber": "The user's phone number.",
      "userKey": "The user's id: 4 to 64 letters, digits and `._-@`.",
      "name": "The user's name.",
      "authType": "How the user authenticates at this machine: `none`, `biometric` or `passcode`.",
      "agreeGccs": "Consent to BSA's terms of use. An absent value means no consent.",
      "agreePerson": "Consent to the privacy policy.",
      "agreeDevice": "Consent to the device information policy.",
      "verifyBy": "The contact by which the user is verified; default: `email`.",
      "disposeToken": "The handle that a `verifyContact` flow returned.",
      "pushToken": "The SDK's `token`: the target of push messages.",
      "appVersion": "The version of the app; default: the configured version.",
      "clientKey": """
      The client key that an app's SDK was configured with; must equal the configured one.
      """,
      "appPackage": "The app's package; must equal the configured one.",
    ]
  }
}

extension BSARegister {
  package static var resultMembers: [Schema.Member] {
    [
      .userKey,
      .deviceID,
      .totpProblem,
      .account,
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
