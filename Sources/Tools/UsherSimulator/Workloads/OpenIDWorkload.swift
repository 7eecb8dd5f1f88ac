import JSONRPC
import UsherSandbox

/// OpenID Connect: people sign in at the provider's pages, with a code or in a browser.
struct OpenIDWorkload: Workload {
  /// What the provider does with tokens.
  enum Kind {
    /// They are Bearer tokens, and a refresh gets the token for an audience.
    case plain
    /// They are bound to a key (DPoP), and an exchange gets the token for an audience (RFC 8693).
    case bound
  }

  private let kind: Kind

  init(_ kind: Kind) { self.kind = kind }

  var provider: String { kind == .plain ? "demo" : "bound" }
  var clientID: String { kind == .plain ? "usher" : "usher-bound" }

  var clients: [Client] {
    kind == .plain ? [] : [Client(id: clientID, name: "usherd with keys")]
  }

  /// The services for which clients want tokens of their own.
  static let audiences = ["https://files.example.com", "https://mail.example.com"]

  var configuration: String {
    """
    [[provider]]
    name = "\(provider)"
    type = "oidc"
    issuer = "\(SandboxHost.issuer)"
    client_id = "\(clientID)"
    scopes = ["openid", "profile", "email", "offline_access"]
    redirect = "loopback"
    \(settings)
    """
  }

  private var settings: String {
    switch kind {
    case .plain:
      """
      audience_parameter = "resource"
      audiences = \(Self.audiences)
      """
    case .bound:
      """
      dpop = true
      audience_parameter = "audience"
      token_exchange = true
      """
    }
  }

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    NewFlow(
      kind: person.random.pick(["device", "authorize"]), params: [:],
      customer: person.customer(of: client.uid))
  }

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    switch flow.stepType {
    case "displayCode":
      _ = await signIn(
        flow, person, at: "/oidc/device", with: ("user_code", flow.step["userCode"]))
      return nil
    case "openURL":
      let url = flow.step["url"]?.stringValue ?? ""
      return .pasted(await signIn(flow, person, at: url).location)
    default: return nil
    }
  }

  private func signIn(
    _ flow: FollowedFlow, _ person: Person, at page: String,
    with field: (name: String, value: JSONValue?)? = nil
  ) async -> Reply {
    var form = [
      ("username", flow.customer), ("password", SandboxAccount.password), ("action", "login"),
    ]
    if let field { form.append((field.name, field.value?.stringValue ?? "")) }
    let login = await person.press(
      on: await person.host.handle(.get, page), form, to: "/oidc/login")
    let decision = person.decides(on: flow) ? "allow" : "deny"
    return await person.press(on: login, [("decision", decision)], to: "/oidc/consent")
  }
}
