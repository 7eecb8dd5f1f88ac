import JSONRPC
package import UsherAPI
import UsherFlows

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension ExampleSignIn.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] { ["badge": "The number of the badge."] }
}

extension ExampleSignIn {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["badge": "4711"], result: ["account": "acc_1"])
  }
}
