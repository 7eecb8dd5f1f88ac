import JSONRPC
import UsherSandbox

/// GoPay: people log in and have their identity verified by pictures of card and face.
struct GoPayWorkload: Workload {
  /// The party that redeems the authorization code of a sign-in.
  enum Exchange: String {
    /// The backend of the client.
    case app
    /// A backend that the daemon calls.
    case backend
    /// The daemon.
    case snap
  }

  private let exchange: Exchange

  init(_ exchange: Exchange) { self.exchange = exchange }

  var provider: String { "gopay-\(exchange.rawValue)" }

  var configuration: String {
    """
    [[provider]]
    name = "\(provider)"
    type = "gopay"
    client_id = "acme-sdk"
    merchant_id = "8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11"
    exchange = "\(exchange.rawValue)"
    snap_base_url = "\(SandboxHost.base)/gopay/snap"
    identity_base_url = "\(SandboxHost.base)/gopay/identity"
    capture_base_url = "\(SandboxHost.base)/gopay/capture"
    \(settings)
    """
  }

  private var settings: String {
    switch exchange {
    case .app: ""
    case .backend:
      """
      exchange_url = "\(SandboxHost.base)/gopay/partner/exchange"
      exchange_credential = "gopay-exchange"
      """
    case .snap:
      """
      private_key_credential = "gopay-private-key"
      client_secret_credential = "gopay-client-secret"
      channel_id = "95221"
      """
    }
  }

  var credentials: [String: String] {
    switch exchange {
    case .app: [:]
    case .backend: ["gopay-exchange": "s3cret:exchange/key+="]
    case .snap:
      ["gopay-private-key": GoPayKey.privateKey, "gopay-client-secret": "s3cret:snap/key+="]
    }
  }

  var sandboxSettings: [String: JSONValue] {
    ["/_control/gopay/key": ["publicKey": .string(GoPayKey.publicKey)]]
  }

  // MARK: - Starts

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    let customer = person.customer(of: client.uid)
    let request = "request-\(client.uid)-\(person.nextNumber())"
    var params: JSONValue = ["userCorrelationId": .string(customer)]
    let accounts = client.accounts.filter { $0.provider == provider }
    switch person.random.number(0...9) {
    case 0...5: params["credentialReceiver"] = "exchange"
    case 6:
      params["credentialReceiver"] = "exchange"
      params["token"] = .string(token("short", of: customer, person))
    case 7...8 where !accounts.isEmpty:
      let account = person.random.pick(accounts)
      params["credentialReceiver"] = "none"
      params["userCorrelationId"] = .string(account.subject)
      params["account"] = .string(account.id)
    default:
      params["credentialReceiver"] = "none"
      params["token"] = .string(token("long", of: customer, person))
    }
    return NewFlow(kind: "verify", params: params, customer: customer, requestID: request)
  }

  /// Returns a linking token that GoPay issued before.
  private func token(_ term: String, of customer: String, _ person: Person) -> String {
    let token = "\(customer)-\(term)-term"
    person.provided.record(token, owner: SandboxAccount.owner(customer))
    return token
  }

  // MARK: - Answers

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    switch (flow.stepType, flow.step["completes"]?.stringValue) {
    case ("openURL", "poll"):
      await photograph(flow, person)
      return nil
    case ("openURL", _): return .pasted(await logIn(flow, person))
    case ("exchangeCredential", _): return await redeem(flow, person)
    default: return nil
    }
  }

  /// Logs in with phone number, code and PIN; returns the address to which GoPay redirects.
  private func logIn(_ flow: FollowedFlow, _ person: Person) async -> String? {
    let phone = SandboxAccount.phone(of: flow.customer)
    var page = await person.host.handle(.get, flow.step["url"]?.stringValue ?? "")
    if person.random.chance(10) {
      let button = person.random.pick(["deny", "cancel"])
      return await press(on: page, ("action", button), person).location
    }
    page = await press(on: page, ("phone", phone), person)
    // On a page, a wrong code is typed again.
    for _ in 0..<2 where page.location == nil {
      guard let code = await person.typesCode(sentTo: phone, by: "gopay") else { return nil }
      page = await press(on: page, ("otp", code.text), person)
      if code.isRight { break }
    }
    page = await press(on: page, ("pin", SandboxAccount.pin), person)
    if let code = page.location?.query("authCode") {
      person.provided.record(code, owner: flow.uid)
    }
    return page.location
  }

  private func press(
    on page: Reply, _ field: (String, String), _ person: Person
  ) async -> Reply {
    let action = field.0 == "action" ? [] : [("action", "next")]
    return await person.press(on: page, [field] + action, to: "/gopay/snap/login")
  }

  /// Redeems a code, as the backend of the client does.
  private func redeem(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    let code = flow.step["credential"]?["code"] ?? ""
    guard person.random.chance(90) else {
      return ["type": "exchangeCredential", "failure": ["reason": "unwanted"]]
    }
    let reply = await person.control("/_control/gopay/redeem", ["authCode": code])
    guard let token = reply["token"]?.stringValue else { return nil }
    person.provided.record(token, owner: flow.uid)
    return [
      "type": "exchangeCredential",
      "success": [
        "userCorrelationId": flow.params["userCorrelationId"] ?? "", "token": .string(token),
      ],
    ]
  }

  /// Submits pictures, or fails to; GoPay decides on them later.
  private func photograph(_ flow: FollowedFlow, _ person: Person) async {
    let page = flow.step["url"]?.stringValue ?? ""
    guard person.random.chance(90) else {
      let error = person.random.pick(["CAMERA", "USER_CANCELLED", "VERIFICATION", "HELP_CLICKED"])
      _ = await person.host.submit([("action", error)], to: page)
      return
    }
    person.approve(flow)
    for action in person.random.pick([["submit"], ["card", "face"]]) {
      _ = await person.host.submit([("action", action)], to: page)
    }
  }

  // MARK: - Checks

  /// If GoPay has verified the person of an account before, no pictures are needed.
  func needsApproval(_ flow: FollowedFlow, _ view: JSONValue) -> Bool { flow.account == nil }

  func evidence(_ flow: FollowedFlow, _ result: JSONValue) -> [String] {
    [result["submissionId"]?.stringValue ?? "no submission"]
  }
}
