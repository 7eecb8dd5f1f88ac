import JSONRPC

/// Freedom ID in mode `oidc`: people sign in with a browser.
struct FreedomOpenIDWorkload: Workload {
  let provider = "freedom-openid"

  var configuration: String {
    """
    [[provider]]
    name = "freedom-openid"
    type = "freedomid"
    mode = "oidc"
    client_id = "acme"
    client_credential = "freedom-secret"
    base_url = "\(SandboxHost.base)/freedomid"
    """
  }

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    NewFlow(kind: "authorize", params: [:], customer: person.customer(of: client.uid))
  }

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    guard flow.stepType == "openURL" else { return nil }
    return .pasted(await FreedomPages.authorize(flow, person))
  }
}
