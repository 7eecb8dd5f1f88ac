import JSONRPC
package import UsherAPI

// The results of the flows and examples, for the OpenRPC document.

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

extension BSARegistrationFlow {
  package static var resultMembers: [Schema.Member] {
    [.userKey, .deviceID, .totpProblem, .account]
  }
}

extension BSARegisterParams {
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
  package static var example: FlowExample {
    .init(
      ["userKey": "ada.l", "name": "Ada", "verifyBy": "email", "verifyData": "ada@example.org"],
      result: ["userKey": "ada.l", "deviceId": "5f0c", "account": "acc_1"])
  }
}

extension BSAAuthenticate {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["by": "qr", "qrId": "qr-1"], result: ["account": "acc_1"])
  }
}
