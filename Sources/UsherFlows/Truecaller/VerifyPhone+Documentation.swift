import JSONRPC
package import UsherAPI

// The result of the flow and an example, for the OpenRPC document.

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
      .init(
        "nameProblem", .map(of: .anything),
        """
        The problem why the user's name was not written to the Truecaller profile; absent if it \
        was, or if no name was entered.
        """, isRequired: false),
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
