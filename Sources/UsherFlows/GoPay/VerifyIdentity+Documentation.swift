import JSONRPC
package import UsherAPI

// The descriptions of the flow's parameters and result, for the OpenRPC document.

extension VerifyIdentity.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "userCorrelationId": """
      The id that links the user to GoPay: 1 to 256 printable ASCII characters without spaces.
      """,
      "credentialReceiver": """
      Whether an auth code is exchanged for a linking token: `exchange`, or `none`.
      """,
      "token": "A linking token: short-term with `exchange`, long-term with `none`.",
      "account": "An account whose linking token is used instead of `token`.",
      "redirectURI": """
      The URL at which the app itself receives the log-in's redirect: https, or http on the \
      loopback. If absent, the daemon listens.
      """,
      "returnUrl": """
      The URL that the capture page redirects to at its end: https, or http on the loopback.
      """,
      "locale": "The language of the provider's pages.",
      "featureId": "Reserved by the vendor: a value is refused.",
    ]
  }
}

extension VerifyIdentity {
  package static var resultMembers: [Schema.Member] {
    [
      .init("submissionId", .text, "The provider's id of the submission."),
      .init(
        "metadata",
        .object([
          .init("status", .text, "The status of the submission."),
          .init("result", .text, "The verdict, if there is one.", isRequired: false),
          .init(
            "reasonCode", .text, "The reason of the verdict, if the provider gives one.",
            isRequired: false),
        ]),
        "The state of the submission at the flow's end. Later changes are events of topic `kyc`."),
      .account,
    ]
  }

  package static var example: FlowExample {
    .init(
      ["userCorrelationId": "user-1", "credentialReceiver": "exchange", "locale": "en"],
      result: ["submissionId": "sub-1", "metadata": ["status": "SUBMITTED"], "account": "acc_1"])
  }
}
