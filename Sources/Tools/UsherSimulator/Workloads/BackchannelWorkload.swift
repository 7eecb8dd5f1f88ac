import JSONRPC
import UsherSandbox

/// OpenID Connect CIBA: people approve sign-ins on devices of their own.
struct BackchannelWorkload: Workload {
  static let clientID = "usher-bank"
  private static let secret = "s3cret-of-the-bank"

  let provider = "bank"

  var configuration: String {
    """
    [[provider]]
    name = "bank"
    type = "oidc"
    issuer = "\(SandboxHost.issuer)"
    client_id = "\(Self.clientID)"
    client_credential = "bank-secret"
    client_auth = "post"
    scopes = ["openid", "profile", "offline_access"]
    """
  }

  var credentials: [String: String] { ["bank-secret": Self.secret] }

  var clients: [Client] {
    [Client(id: Self.clientID, name: "usherd at the bank", secret: Self.secret)]
  }

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    let customer = person.customer(of: client.uid)
    return NewFlow(
      kind: "backchannel",
      params: [
        "loginHint": .string(customer), "bindingMessage": .string("q\(person.nextNumber())"),
      ], customer: customer)
  }

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    guard flow.state == "authorization_pending" else { return nil }
    let isAllowed = person.decides(on: flow)
    await person.control(
      "/_control/backchannel",
      [
        "user": .string(flow.customer), "allow": .bool(isAllowed),
        "bindingMessage": flow.params["bindingMessage"] ?? "",
      ])
    return nil
  }
}
