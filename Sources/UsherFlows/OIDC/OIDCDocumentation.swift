import JSONRPC
package import UsherAPI

// The descriptions of the flows' parameters and results, for the OpenRPC document.

extension OIDCAuthorize.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "scope": """
      The scopes, separated by spaces. Default: the configured scopes. `openid` is always \
      requested.
      """,
      "account": "An existing account to sign in again. The sign-in of any other user is refused.",
      "loginHint": """
      The account that the user probably wants, such as an e-mail address (OIDC Core §3.1.2.1).
      """,
      "prompt": "`login`, `consent`, `select_account`, … (OIDC Core §3.1.2.1).",
      "uiLocales": "The user's preferred languages, as BCP 47 tags with spaces between them.",
      "acrValues": """
      The requested classes of authentication, with spaces between them (OIDC Core §3.1.2.1).
      """,
      "maxAgeSeconds": """
      The maximum time since the user's last authentication at the provider, in seconds.
      """,
      "keepAlive": "Whether the daemon refreshes the tokens in the background.",
    ]
  }
}

extension OIDCAuthorize {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["scope": "openid email", "loginHint": "ada@example.org"], result: ["account": "acc_1"])
  }
}

extension OIDCDevice.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    OIDCAuthorize.Params.memberDescriptions.filter {
      ["scope", "account", "keepAlive"].contains($0.key)
    }
  }
}

extension OIDCDevice {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["scope": "openid email"], result: ["account": "acc_1"])
  }
}
