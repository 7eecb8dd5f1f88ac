import JSONRPC
package import UsherAPI

// The results of the flows and examples, for the OpenRPC document.

extension OIDCAuthorize {
  package static var resultMembers: [Schema.Member] { .signIn }

  package static var example: FlowExample {
    .init(["scope": "openid email", "loginHint": "ada@example.org"], result: ["account": "acc_1"])
  }
}

extension OIDCClientCredentials {
  package static var resultMembers: [Schema.Member] { .signIn }

  package static var example: FlowExample {
    .init(["scope": "reports.read"], result: ["account": "acc_1"])
  }
}

extension OIDCJWTBearerGrant {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(
      ["subject": "reports@example.org", "scope": "reports.read"], result: ["account": "acc_1"])
  }
}

extension OIDCIdentityAssertionGrant {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["identity": "acc_1", "scope": "files.read"], result: ["account": "acc_2"])
  }
}

extension OIDCBackchannel {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(
      ["loginHint": "ada@example.org", "bindingMessage": "W4SCT"], result: ["account": "acc_1"])
  }
}

extension OIDCEndSession {
  package static var resultMembers: [Schema.Member] { [] }

  package static var example: FlowExample { .init(["account": "acc_1"], result: [:]) }
}

extension OIDCDevice {
  package static var resultMembers: [Schema.Member] { .signIn }

  package static var example: FlowExample {
    .init(["scope": "openid email"], result: ["account": "acc_1"])
  }
}

extension [Schema.Member] {
  /// The result of a sign-in, with what it changed in an earlier grant of the account.
  fileprivate static var signIn: [Schema.Member] {
    [
      .account,
      .init(
        "earlierGrant", .string(oneOf: ["kept", "replaced"], format: nil),
        """
        What became of the grant that the account had, if the new one lacks something of it: `kept` \
        if the new one has nothing more, so that the account keeps its tokens; `replaced` if it has. \
        Absent if nothing is lost.
        """, isRequired: false),
      .init(
        "lostScope", .text, "The scope that only the replaced grant had; absent if there is none.",
        isRequired: false),
      .init(
        "lostAudiences", .array(of: .text),
        "The audiences that only the replaced grant had; absent if there are none.",
        isRequired: false),
    ]
  }
}
