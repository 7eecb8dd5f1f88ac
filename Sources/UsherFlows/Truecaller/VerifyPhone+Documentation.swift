import JSONRPC
package import UsherAPI

// The descriptions of the flow's parameters and result, for the OpenRPC document.

extension VerifyPhone.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "phoneNumber": "The national number: ten digits for India.",
      "countryCode": "An ISO 3166-1 alpha-2 code in upper or lower case.",
      "appKey": "The app key of the app's SDK. It must equal the configured one.",
      "appLink": "The app link of the app's SDK. It must equal the configured one.",
    ]
  }
}

extension VerifyPhone {
  package static var resultMembers: [Schema.Member] {
    [
      .init(
        "profile", .map(of: .anything),
        """
        The user's profile, by the names of the vendor's `TCTrueProfile`. Unknown members are \
        null.
        """),
      .account,
    ]
  }

  package static var example: FlowExample {
    .init(
      ["phoneNumber": "9876543210", "countryCode": "IN"],
      result: [
        "profile": ["firstName": "Ada", "lastName": "Lovelace", "isVerified": true],
        "account": "acc_1",
      ])
  }
}
