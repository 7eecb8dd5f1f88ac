import JSONRPC

/// Client credentials of OAuth 2.0: the daemon gets tokens for itself, and no person acts.
struct ServiceWorkload: Workload {
  /// The client ID, which is the subject of its accounts.
  static let clientID = "usher-confidential"

  let provider = "service"

  var configuration: String {
    """
    [[provider]]
    name = "service"
    type = "oidc"
    issuer = "\(SandboxHost.issuer)"
    client_id = "\(Self.clientID)"
    client_credential = "service-secret"
    scopes = ["openid"]
    client_credentials_grant = true
    """
  }

  var credentials: [String: String] { ["service-secret": "s3cret:with/odd+chars"] }

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    NewFlow(kind: "clientCredentials", params: [:], customer: "")
  }

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? { nil }

  func needsApproval(_ flow: FollowedFlow, _ view: JSONValue) -> Bool { false }
}
