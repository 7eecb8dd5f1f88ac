import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension FreedomCreateUser.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "account": "The partner's own account.",
      "phone": "Required: the user's phone number, `+` and 10 to 15 digits.",
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

extension FreedomCreateUser {
  package static var resultMembers: [Schema.Member] {
    [
      .init("freedomId", .text, "The new user's id at Freedom, a UUID.")
    ]
  }

  package static var example: FlowExample {
    .init(
      ["phone": "+77011234567", "firstname": "Ada"],
      result: ["freedomId": "8a5c1c5e-6b0e-4e57-9b3c-0d3c2f6f1a11"])
  }
}
