import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension OIDCDevice.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "scope": """
      The scopes, separated by spaces. Default: the configured scopes. `openid` is always \
      requested.
      """,
      "account": "An existing account to sign in again. The sign-in of any other user is refused.",
      "keepAlive": "Whether the daemon refreshes the tokens in the background.",
    ]
  }
}

extension OIDCDevice {
  package static var resultMembers: [Schema.Member] {
    [
      .account
    ]
  }

  package static var example: FlowExample {
    .init(["scope": "openid email"], result: ["account": "acc_1"])
  }
}
