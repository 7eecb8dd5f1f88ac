import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

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
  package static var resultMembers: [Schema.Member] {
    [
      .granted,
      .profile,
      .account,
    ]
  }

  package static var example: FlowExample {
    .init(
      ["grants": ["read.firstname"]],
      result: ["granted": ["read.firstname"], "profile": ["firstname": "Ada"], "account": "acc_1"])
  }
}
