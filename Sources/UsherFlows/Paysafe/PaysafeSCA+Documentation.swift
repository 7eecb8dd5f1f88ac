import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension PaysafeSCA.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "account": "The customer's account.",
      "eventId": "The id of the event that the wallet's reply named.",
      "walletOperationId": "The id of the wallet operation that the wallet's reply named.",
      "availableVerifications": """
      The verifications that the event lists; empty for any agreed method. If absent, the \
      provider is asked for them, unless `verification` is present.
      """,
      "verification": "The verification to use. If absent, the customer chooses.",
      "returnUrl": """
      The URL to which the provider's approval page sends the browser back: https, or http on \
      the loopback.
      """,
      "language": "The language of messages to the customer, such as `en` or `en-GB`.",
      "operation": "A description of the operation for the customer who approves it.",
    ]
  }
}

extension PaysafeSCA.Available: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "method": "The provider's name of the method, such as `OTP`.",
      "channel": """
      The provider's name of the channel, such as `SMS`; absent if the method has none.
      """,
      "target": "The masked destination.",
    ]
  }
}

extension PaysafeSCA {
  package static var resultMembers: [Schema.Member] {
    [
      .init("eventId", .text, "The id of the event."),
      .init("walletOperationId", .text, "The id of the wallet operation."),
      .init("status", .string(oneOf: ["VERIFIED"], format: nil), "Always `VERIFIED`."),
      .init("statusReason", .text, "The provider's reason for the status.", isRequired: false),
    ]
  }

  package static var example: FlowExample {
    .init(
      ["eventId": "evt-1", "walletOperationId": "op-1"],
      result: ["eventId": "evt-1", "walletOperationId": "op-1", "status": "VERIFIED"])
  }
}
