import JSONRPC

/// Assertions that the daemon signs (RFC 7523): a service account gets tokens, and no person acts.
struct RobotWorkload: Workload {
  /// The service account, which is the subject of the accounts.
  static let subject = "robot@project.example"

  let provider = "robot"

  var configuration: String {
    """
    [[provider]]
    name = "robot"
    type = "oidc"
    issuer = "\(SandboxHost.issuer)"
    client_id = "usher"
    scopes = ["openid"]
    [provider.jwt_bearer]
    key_credential = "robot-key"
    key_id = "robot-1"
    issuer = "\(Self.subject)"
    """
  }

  var credentials: [String: String] { ["robot-key": Self.privateKey] }

  var sandboxSettings: [String: JSONValue] {
    ["/_control/settings": ["clientKeys": [Self.subject: ["keys": [Self.publicKey]]]]]
  }

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    NewFlow(kind: "jwtBearer", params: [:], customer: "")
  }

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? { nil }

  func needsApproval(_ flow: FollowedFlow, _ view: JSONValue) -> Bool { false }

  // The key pair is used nowhere else, and always the same, so that two runs of a seed are equal.

  private static let privateKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKinydeEg9AnBJyPQ
    vlYTi/ixedxIlupH4oHKoN9qQfuhRANCAATspxFgzdhkNq//YLLLasTQOOSpB7w4
    SnLlFdYBzwCDm9fQJ63bj3DrtfrGUpJxheM4fPudOQuZusNZm2Cih5aw
    -----END PRIVATE KEY-----
    """

  private static let publicKey: JSONValue = [
    "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "robot-1",
    "x": "7KcRYM3YZDav_2Cyy2rE0DjkqQe8OEpy5RXWAc8Ag5s",
    "y": "19AnrduPcOu1-sZSknGF4zh8-505C5m6w1mbYKKHlrA",
  ]
}
