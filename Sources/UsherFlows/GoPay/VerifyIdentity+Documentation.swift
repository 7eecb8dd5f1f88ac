import JSONRPC
package import UsherAPI

// The result of the flow and an example, for the OpenRPC document.

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
