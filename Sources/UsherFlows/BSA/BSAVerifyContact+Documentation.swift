import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension BSAVerifyContact.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "sendType": "The channel of the number: `email` or `sms`.",
      "sendTarget": "The e-mail address or phone number that is verified.",
      "clientKey": """
      The client key that an app's SDK was configured with; must equal the configured one.
      """,
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
