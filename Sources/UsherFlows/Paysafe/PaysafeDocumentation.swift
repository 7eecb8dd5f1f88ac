import JSONRPC
package import UsherAPI

// The descriptions of the flows' parameters and results, for the OpenRPC document.

extension PaysafeAuthorize.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "brandIdentity": "The brand whose customer signs in. Default: the configured brand.",
      "redirectURI": """
      The URL at which the app receives the redirect itself: https, or http on the loopback. If \
      absent, the daemon listens for the redirect.
      """,
      "resetCredentialsURL": "The app's page for customers who forgot their PIN or password.",
      "locale": "A BCP 47 language tag such as `en-GB`.",
      "loginHint": "The name with which the customer probably signs in.",
      "loginStrategy": "Whether the customer signs in with a PIN or a password.",
      "account": """
      An existing account to sign in again. The sign-in of any other customer is refused.
      """,
      "keepAlive": "Whether the daemon refreshes the tokens in the background.",
      "state": "A state that the caller created. It requires `codeChallenge`.",
      "codeChallenge": """
      The caller's S256 code challenge. It requires `state`, and the caller then redeems the \
      code.
      """,
      "clientIdentifier": """
      The client identifier of the SDK's call. It must equal the configured client id.
      """,
    ]
  }
}

extension PaysafeAuthorize {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["locale": "en-GB", "loginStrategy": "pin"], result: ["account": "acc_1"])
  }
}

extension PaysafeOperation.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "method": "GET, POST, PUT, PATCH or DELETE.",
      "path": """
      The path below the provider's base URL. It begins with a slash and may have a query.
      """,
      "body": "The JSON body of the call; absent if it has none.",
    ].merging(approvalDescriptions) { $1 }
  }
}

/// The descriptions of the parameters that all flows have in which a customer approves an
/// operation.
private var approvalDescriptions: [String: String] {
  [
    "account": "The customer's account.",
    "operation": "A description of the operation for the customer who approves it.",
    "verification": "The verification to use. If absent, the customer chooses.",
    "returnUrl": """
    The URL to which the provider's approval page sends the browser back: https, or http on \
    the loopback.
    """,
    "language": "The language of messages to the customer, such as `en` or `en-GB`.",
  ]
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

extension PaysafeSCA.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "eventId": "The id of the event that the wallet's reply named.",
      "walletOperationId": "The id of the wallet operation that the wallet's reply named.",
      "availableVerifications": """
      The verifications that the event lists; empty for any agreed method. If absent, the \
      provider is asked for them, unless `verification` is present.
      """,
    ].merging(approvalDescriptions) { $1 }
  }
}

extension PaysafeSCA.Available: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    PaysafeCall.Verification.memberDescriptions
      .merging(["target": "The masked destination."]) { $1 }
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
