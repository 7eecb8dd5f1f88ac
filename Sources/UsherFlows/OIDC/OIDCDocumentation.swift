import JSONRPC
package import UsherAPI

// The results of the flows and examples, for the OpenRPC document.

extension OIDCAuthorize {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["scope": "openid email", "loginHint": "ada@example.org"], result: ["account": "acc_1"])
  }
}

extension OIDCClientCredentials {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["scope": "reports.read"], result: ["account": "acc_1"])
  }
}

extension OIDCDevice {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["scope": "openid email"], result: ["account": "acc_1"])
  }
}
