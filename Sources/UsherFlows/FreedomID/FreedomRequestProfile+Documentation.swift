import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension FreedomRequestProfile.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "account": "The partner's own account, with grant `read.profile`.",
      "freedomId": "The other user's id at Freedom, a UUID. Either this or `phone` is required.",
      "phone": "The other user's phone number: `+` and 10 to 15 digits.",
      "grants": "The requested fields: `read.firstname`, ….",
    ]
  }
}

extension FreedomRequestProfile {
  package static var resultMembers: [Schema.Member] {
    [
      .init("requestId", .text, "The id of the request at the provider, a UUID."),
      .init("freedomId", .text, "The other user's id at Freedom."),
      .granted,
      .profile,
    ]
  }

  package static var example: FlowExample {
    .init(
      ["phone": "+77011234567", "grants": ["read.firstname"]],
      result: [
        "requestId": "0b7d7f0a-4d0e-4d3b-8a43-0c6b8a3a7f10",
        "freedomId": "8a5c1c5e-6b0e-4e57-9b3c-0d3c2f6f1a11", "granted": ["read.firstname"],
        "profile": ["firstname": "Ada"],
      ])
  }
}
