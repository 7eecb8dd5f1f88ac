import JSONRPC
package import UsherAPI

// The results of the flows and examples, for the OpenRPC document.

extension FreedomDeviceAuthorize {
  package static var resultMembers: [Schema.Member] { [.granted, .profile, .account] }

  package static var example: FlowExample {
    .init(
      ["grants": ["read.firstname"]],
      result: ["granted": ["read.firstname"], "profile": ["firstname": "Ada"], "account": "acc_1"])
  }
}

extension FreedomPartnerAuthorize {
  package static var resultMembers: [Schema.Member] { [.granted, .profile, .account] }

  package static var example: FlowExample {
    .init(
      ["grants": ["read.firstname", "read.email"]],
      result: [
        "granted": ["read.firstname", "read.email"],
        "profile": ["firstname": "Ada", "email": "ada@example.org"], "account": "acc_1",
      ])
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

extension FreedomCreateUserParams {
  package static var resultMembers: [Schema.Member] {
    [.init("freedomId", .text, "The new user's id at Freedom, a UUID.")]
  }

  package static var example: FlowExample {
    .init(
      ["phone": "+77011234567", "firstname": "Ada"],
      result: ["freedomId": "8a5c1c5e-6b0e-4e57-9b3c-0d3c2f6f1a11"])
  }
}

extension FreedomUpdateUserParams {
  package static var resultMembers: [Schema.Member] {
    [.init("freedomId", .text, "The user's id at Freedom, a UUID.")]
  }

  package static var example: FlowExample {
    .init(
      ["freedomId": "8a5c1c5e-6b0e-4e57-9b3c-0d3c2f6f1a11", "lastname": "King"],
      result: ["freedomId": "8a5c1c5e-6b0e-4e57-9b3c-0d3c2f6f1a11"])
  }
}
