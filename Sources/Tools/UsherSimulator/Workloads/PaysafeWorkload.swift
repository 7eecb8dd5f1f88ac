import JSONRPC
import UsherSandbox

/// Paysafe: people sign in to a wallet, call it, and approve payments by Strong Customer
/// Authentication (SCA).
struct PaysafeWorkload: Workload {
  let provider = "paysafe"

  var configuration: String {
    """
    [[provider]]
    name = "paysafe"
    type = "paysafe"
    base_url = "\(SandboxHost.base)/paysafe"
    brand_identity = "acme"
    client_id = "acme-wallet"
    client_credential = "paysafe-client-secret"
    operations = ["*:/wallets/*"]
    """
  }

  let credentials = ["paysafe-client-secret": "s3cret:+/%"]

  /// The amount above which a payment needs SCA. Small amounts last longer than the balance.
  private static let scaAmount = 1.0

  var sandboxSettings: [String: JSONValue] {
    [
      "/_control/paysafe/settings": [
        "scaAmount": .number(Self.scaAmount), "refreshTokenSeconds": 86_400,
        "accessTokenSeconds": 120,
      ]
    ]
  }

  // MARK: - Starts

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    let accounts = client.accounts.filter { $0.provider == provider }
    guard !accounts.isEmpty, person.random.chance(80) else {
      return NewFlow(
        kind: "authorize", params: [:], customer: person.customer(of: client.uid))
    }
    let account = person.random.pick(accounts)
    let customer = SandboxAccount.name(of: account.subject)
    var params: JSONValue = ["account": .string(account.id)]
    if person.random.chance(30) { params["returnUrl"] = "http://127.0.0.1:9/done" }
    if person.random.chance(25) {
      let event = await person.control(
        "/_control/paysafe/events", ["username": .string(customer)])
      for name in ["eventId", "walletOperationId"] { params[name] = event[name] ?? "" }
      if person.random.chance(50) { params["verification"] = ["method": "OTP", "channel": "SMS"] }
      return NewFlow(kind: "sca", params: params, customer: customer)
    }
    return NewFlow(
      kind: "operation", params: params.adding(call(of: customer, person)), customer: customer)
  }

  /// Returns the parameters of a wallet call, which is unlike any other call.
  private func call(of customer: String, _ person: Person) -> [String: JSONValue] {
    let (wallet, number) = ("/wallets/wlt_\(customer)", person.nextNumber())
    let payment = { (amount: JSONValue) -> [String: JSONValue] in
      [
        "method": "POST", "path": .string("\(wallet)/payments"),
        "body": [
          "amount": amount, "currency": "EUR", "payee": "Bakery",
          "reference": .string("payment \(number)"),
        ],
      ]
    }
    return switch person.random.number(0...9) {
    case 0...1: ["method": "GET", "path": .string("\(wallet)/balance")]
    case 2...4: payment("0.50")
    case 5...8: payment("2.00")
    default:
      [
        "method": "PUT", "path": .string("\(wallet)/payees/payee\(number)"),
        "body": ["name": "Ada", "iban": "DE89370400440532013000"],
      ]
    }
  }

  // MARK: - Answers

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    switch flow.stepType {
    case "openURL" where flow.kind == "authorize": return .pasted(await signIn(flow, person))
    case "choose":
      let options = flow.step["options"]?.arrayValue?.compactMap { $0["id"] } ?? []
      return options.isEmpty ? nil : ["type": "choose", "id": person.random.pick(options)]
    case "enterCode": return await enterCode(flow, person)
    case "enterPassword":
      let right =
        flow.step["purpose"] == "pin" ? SandboxAccount.pin : SandboxAccount.password
      let isRight = person.random.chance(85)
      if isRight { person.approve(flow) }
      return ["type": "enterPassword", "password": .string(isRight ? right : "1111")]
    case "openURL": return await decide(flow, person)
    case "wait" where flow.state == "challenged": return await decide(flow, person)
    default: return nil
    }
  }

  /// Approves or denies at a page, or on a phone that got a push notification.
  private func decide(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    let approve = person.decides(on: flow)
    await person.control(
      "/_control/paysafe/events/\(flow.key)/decision", ["approve": .bool(approve)])
    return nil
  }

  private func signIn(_ flow: FollowedFlow, _ person: Person) async -> String? {
    let page = await person.host.handle(.get, flow.step["url"]?.stringValue ?? "")
    let action = person.decides(on: flow) ? "login" : "deny"
    return await person.press(
      on: page,
      [("username", flow.customer), ("pin", SandboxAccount.pin), ("action", action)],
      to: "/paysafe/auth/brands/acme/login"
    ).location
  }

  private func enterCode(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    if person.random.chance(10) { return .resend }
    var code: (text: String, isRight: Bool)?
    if flow.step["channel"] == "authenticator" {
      let shown = await person.control(
        "/_control/paysafe/authenticator?username=\(flow.customer)")
      code = person.types(shown["code"]?.stringValue ?? "")
    } else {
      let contact =
        flow.step["channel"] == "sms"
        ? SandboxAccount.phone(of: flow.customer) : SandboxAccount.email(of: flow.customer)
      code = await person.typesCode(sentTo: contact, by: "paysafe")
    }
    guard let code else { return nil }
    if code.isRight { person.approve(flow) }
    return .code(code.text)
  }

  // MARK: - Checks

  func asks(_ flow: FollowedFlow, _ input: JSONValue?) -> [String] {
    guard let input else {
      let event = flow.params["verification"].flatMap { _ in flow.params["eventId"] }
      return event?.stringValue.map { [PaysafeWire.challenge($0)] } ?? []
    }
    switch input["type"]?.stringValue {
    case "choose": return [PaysafeWire.challenge(flow.key)]
    case "enterCode" where input["resend"] == true: return [PaysafeWire.challenge(flow.key)]
    case "enterCode": return [PaysafeWire.attempt(flow.key, input["code"])]
    case "enterPassword": return [PaysafeWire.attempt(flow.key, input["password"])]
    default: return []
    }
  }

  func needsApproval(_ flow: FollowedFlow, _ view: JSONValue) -> Bool {
    guard flow.kind == "operation" else { return true }
    let status = view["result"]?["status"]?.integerValue ?? 0
    guard 200..<300 ~= status else { return false }
    let amount = flow.params["body"]?["amount"]?.stringValue.flatMap(Double.init)
    return flow.params["method"] != "GET" && (amount ?? .infinity) > Self.scaAmount
  }

  func evidence(_ flow: FollowedFlow, _ result: JSONValue) -> [String] {
    switch flow.kind {
    case "sca": [PaysafeWire.approval(result["eventId"]?.stringValue ?? "")]
    case "operation" where result["status"] == 201:
      [result["body"]?["paymentId"]?.stringValue ?? "no payment"]
    default: []
    }
  }
}
