import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

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
  package static var resultMembers: [Schema.Member] {
    [
      .account
    ]
  }

  package static var example: FlowExample {
    .init(["locale": "en-GB", "loginStrategy": "pin"], result: ["account": "acc_1"])
  }
}
