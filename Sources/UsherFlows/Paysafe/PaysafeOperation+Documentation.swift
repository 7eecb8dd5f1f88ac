import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension PaysafeOperation.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "account": "The customer's account.",
      "method": "GET, POST, PUT, PATCH or DELETE.",
      "path": """
      The path below the provider's base URL. It begins with a slash and may have a query.
      """,
      "body": "The JSON body of the call; absent if it has none.",
      "operation": "A description of the operation for the customer who approves it.",
      "verification": "The verification to use. If absent, the customer chooses.",
      "returnUrl": """
      The URL to which the provider's approval page sends the browser back: https, or http on \
      the loopback.
      """,
      "language": "The language of messages to the customer, such as `en` or `en-GB`.",
    ]
  }
}

extension PaysafeCall.Verification: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "method": "The provider's name of the method, such as `OTP`.",
      "channel": """
      The provider's name of the channel, such as `SMS`; absent if the method has none.
      """,
    ]
  }
}

extension PaysafeOperation {
  package static var resultMembers: [Schema.Member] {
    [
      .init("status", .integer, "The HTTP status of the wallet's reply."),
      .init("body", .anything, "The JSON body of the wallet's reply; null if it has none."),
    ]
  }

  package static var example: FlowExample {
    .init(
      [
        "method": "POST", "path": "/v1/transfers", "body": ["amount": 1000],
        "operation": ["summary": "Transfer", "amount": "EUR 10.00", "payee": "Charles"],
      ],
      result: ["status": 201, "body": ["id": "tr-1"]])
  }
}
