import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension BSAReregisterDevice.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "userKey": "The user's id: 4 to 64 letters, digits and `._-@`.",
      "name": "The user's name.",
      "verifyBy": "The contact by which the user is verified: `email` or `sms`.",
      "verifyData": "The user's registered e-mail address or phone number.",
      "authType": """
      How the user authenticates at this machine: `none`, `biometric` or `passcode`. Default: \
      the registered method.
      """,
      "disposeToken": "The handle that a `verifyContact` flow returned.",
      "pushToken": "The target of push messages.",
      "appVersion": "The version of the app; default: the configured version.",
      "clientKey": """
      The client key that an app's SDK was configured with; must equal the configured one.
      """,
      "appPackage": "The app's package; must equal the configured one.",
    ]
  }
}

extension BSAReregisterDevice {
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
      ["userKey": "ada.l", "name": "Ada", "verifyBy": "email", "verifyData": "ada@example.org"],
      result: ["userKey": "ada.l", "deviceId": "5f0c", "account": "acc_1"])
  }
}
