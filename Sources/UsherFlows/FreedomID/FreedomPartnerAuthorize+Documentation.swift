import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

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
  package static var resultMembers: [Schema.Member] {
    [
      .granted,
      .profile,
      .account,
    ]
  }

  package static var example: FlowExample {
    .init(
      ["grants": ["read.firstname", "read.email"]],
      result: [
        "granted": ["read.firstname", "read.email"],
        "profile": ["firstname": "Ada", "email": "ada@example.org"], "account": "acc_1",
      ])
  }
}
