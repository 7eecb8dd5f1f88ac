import JSONRPC
package import UsherAPI

// The descriptions of the flow's parameters and result, for the OpenRPC document.

extension LocalAuthenticate.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "localAuthType": "Whether the user authenticates with a fingerprint or the passcode.",
      "reason": "The text that is shown to the user: up to 1024 bytes without control characters.",
      "checkDomainStateChanged": """
      Whether the flow fails if the enrolled fingers have changed since the last time. Default: \
      false.
      """,
      "usePasscodeWhenFailed": """
      Whether the user may use the passcode after the fingerprint failed. Default: false.
      """,
    ]
  }
}

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
