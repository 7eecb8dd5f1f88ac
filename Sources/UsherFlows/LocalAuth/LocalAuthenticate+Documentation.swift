import JSONRPC
package import UsherAPI

// The result of the flow and an example, for the OpenRPC document.

extension LocalAuthenticate {
  package static var resultMembers: [Schema.Member] {
    [
      .init(
        "method", .string(oneOf: LocalAuthType.allCases.map(\.rawValue), format: nil),
        "The method with which the user authenticated."),
      .init("authenticatedAt", .time, "The time of the authentication."),
    ]
  }

  package static var example: FlowExample {
    .init(
      [
        "localAuthType": "biometric", "reason": "Approve the payment",
        "usePasscodeWhenFailed": true,
      ],
      result: ["method": "passcode", "authenticatedAt": "2027-01-15T08:00:00Z"])
  }
}
