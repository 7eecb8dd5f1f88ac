import JSONRPC
package import UsherAPI

// The results of the flows and examples, for the OpenRPC document.

extension PaysafeAuthorize {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["locale": "en-GB", "loginStrategy": "pin"], result: ["account": "acc_1"])
  }
}

extension PaysafeAuthenticate {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(
      ["accessToken": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjLTEifQ.c2ln"], result: ["account": "acc_1"])
  }
}

extension PaysafeOperation {
  package static var resultMembers: [Schema.Member] {
    [
      .init("status", .integer, "The HTTP status of the wallet's reply."),
      .init("body", .anything, "The JSON body of the wallet's reply; null if it has none."),
      .init(
        "scaDetails", .anything,
        "The wallet's demand for approval, if the caller has the customer approve: `eventId`, "
          + "`walletOperationId`, `form`, `availableVerifications` and `expirationTime`.",
        isRequired: false),
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

extension PaysafeSCA {
  package static var resultMembers: [Schema.Member] {
    [
      .init("eventId", .text, "The id of the event."),
      .init("walletOperationId", .text, "The id of the wallet operation."),
      .init(
        "status", .string(oneOf: ["VERIFIED", "UNKNOWN"], format: nil),
        "`UNKNOWN` if the customer has answered and the provider has no call for the status: "
          + "then the repeated operation tells whether the event is verified."),
      .init("statusReason", .text, "The provider's reason for the status.", isRequired: false),
    ]
  }

  package static var example: FlowExample {
    .init(
      ["eventId": "evt-1", "walletOperationId": "op-1"],
      result: ["eventId": "evt-1", "walletOperationId": "op-1", "status": "VERIFIED"])
  }
}
