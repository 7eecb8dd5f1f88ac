import JSONRPC
package import UsherAPI
import UsherFlows

// The result of the flow and an example, for the OpenRPC document.

extension ExampleSignIn {
  package static var resultMembers: [Schema.Member] { [.account] }

  package static var example: FlowExample {
    .init(["badge": "4711"], result: ["account": "acc_1"])
  }
}
