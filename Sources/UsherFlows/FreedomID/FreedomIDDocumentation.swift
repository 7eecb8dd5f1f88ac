import JSONRPC
package import UsherAPI

// The descriptions of the flows' parameters and results, for the OpenRPC document.

extension FreedomDeviceAuthorize.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "grants": "The requested fields: `read.gender`, ….",
      "apiKey": "The API key that an app's SDK was configured with; must equal the configured one.",
      "account": "An account of this provider; it replaces the user's choice.",
    ]
  }
}

extension FreedomDeviceAuthorize {
  package static var resultMembers: [Schema.Member] { [.granted, .profile, .account] }

  package static var example: FlowExample {
    .init(
      ["grants": ["read.firstname"]],
      result: ["granted": ["read.firstname"], "profile": ["firstname": "Ada"], "account": "acc_1"])
  }
}

extension FreedomPartnerAuthorize.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "grants": """
      The requested fields: `read.firstname`, …; also `read.profile`, `read.cards` and `openid`.
      """,
      "account": "An account to sign in again; a sign-in of another user is refused.",
    ]
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

extension PartnerUser: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "phone": "The user's phone number: `+` and 10 to 15 digits.",
      "email": "The user's e-mail address.",
      "firstname": "The user's first name.",
      "lastname": "The user's last name.",
      "dateOfBirth": "The user's date of birth, as `YYYY-MM-DD`.",
      "identifier": "The user's identifier, for example the citizen's ID.",
      "country": "The user's country, as an ISO 3166-1 code of three letters: `KAZ`.",
      "gender": "The user's gender: `M` or `F`.",
      "nationality": "The user's nationality.",
    ]
  }
}

extension FreedomCreateUserParams {
  package static var memberDescriptions: [String: String] {
    [
      "account": "The partner's own account.",
      "phone": "Required: the user's phone number, `+` and 10 to 15 digits.",
    ]
  }

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
  package static var memberDescriptions: [String: String] {
    [
      "account": "The partner's own account.",
      "freedomId": "Required: the user's id at Freedom, a UUID.",
    ]
  }

  package static var resultMembers: [Schema.Member] {
    [.init("freedomId", .text, "The user's id at Freedom, a UUID.")]
  }

  package static var example: FlowExample {
    .init(
      ["freedomId": "8a5c1c5e-6b0e-4e57-9b3c-0d3c2f6f1a11", "lastname": "King"],
      result: ["freedomId": "8a5c1c5e-6b0e-4e57-9b3c-0d3c2f6f1a11"])
  }
}
