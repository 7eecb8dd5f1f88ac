import JSONRPC

/// BSA: people verify contacts, register themselves and this device, and sign in at sites.
struct BSAWorkload: Workload {
  let provider = "bsa"

  var configuration: String {
    """
    [[provider]]
    name = "bsa"
    type = "bsa"
    base_url = "\(SandboxHost.base)/bsa"
    client_key_credential = "bsa-client-key"
    app_package = "com.example.app"
    app_version = "1.0.0"
    """
  }

  let credentials = ["bsa-client-key": "s3cret:bsa/client-key"]

  /// People take their time between the site and the device.
  var sandboxSettings: [String: JSONValue] {
    ["/_control/bsa/settings": ["authSeconds": 300, "qrSeconds": 600]]
  }

  // MARK: - Starts

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    let number = person.nextNumber()
    let (customer, phone) = (person.customer(of: client.uid), person.newPhone(of: client.uid))
    let (key, email) = ("user\(client.uid).\(number)", "user\(client.uid).\(number)@example.com")
    let registered = client.accounts.filter { $0.provider == provider }
    switch person.random.number(0...9) {
    case 0...1:
      let isMail = person.random.chance(50)
      return NewFlow(
        kind: "verifyContact",
        params: [
          "sendType": isMail ? "email" : "sms", "sendTarget": .string(isMail ? email : phone),
        ], customer: customer)
    case 2...3 where registered.isEmpty, 4...9 where registered.isEmpty, 2:
      return NewFlow(
        kind: "register",
        params: [
          "email": .string(email), "phoneNumber": .string(phone), "userKey": .string(key),
          "name": "Person", "authType": "passcode", "agreeGccs": true, "agreePerson": true,
          "agreeDevice": true, "verifyBy": person.random.chance(50) ? "email" : "sms",
        ], customer: customer)
    case 3:
      await person.control(
        "/_control/bsa/registrations",
        [
          "userKey": .string(key), "name": "Person", "email": .string(email),
          "phoneNum": .string(phone), "authType": 4,
        ])
      return NewFlow(
        kind: "reregisterDevice",
        params: [
          "userKey": .string(key), "name": "Person", "verifyBy": "email",
          "verifyData": .string(email),
        ], customer: customer)
    default:
      let account = person.random.pick(registered)
      return NewFlow(
        kind: "authenticate",
        params: [
          "account": .string(account.id),
          "by": person.random.pick(["push", "qr", "otp", "totp"]),
        ], customer: account.subject)
    }
  }

  // MARK: - Answers

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    switch (flow.stepType, flow.kind) {
    case ("enterCode", _):
      if person.random.chance(10) { return .resend }
      guard let code = await person.typesCode(sentTo: contact(flow), by: "bsa") else {
        return nil
      }
      if code.isRight { person.approve(flow) }
      return .code(code.text)
    case ("localAuth", _): return person.provesPresence(in: flow)
    case ("wait", "authenticate") where flow.state == "pending":
      await signIn("push", flow, person)
      return nil
    case ("displayCode", _):
      await signIn(
        flow.params["by"]?.stringValue ?? "", flow, person, number: flow.step["userCode"])
      return nil
    case ("fillForm", _):
      if person.random.chance(10) { return .fields(["qrId": "nobody-has-it"]) }
      let id = await signIn("qr", flow, person)["qrId"] ?? ""
      return .fields(["qrId": id])
    default: return nil
    }
  }

  /// Begins a sign-in at a site.
  @discardableResult
  private func signIn(
    _ by: String, _ flow: FollowedFlow, _ person: Person, number: JSONValue? = nil
  ) async -> JSONValue {
    var request: JSONValue = ["by": .string(by)]
    if by != "qr" { request["userKey"] = .string(flow.customer) }
    if let number { request["number"] = person.random.chance(90) ? number : "000000" }
    return await person.control("/_control/bsa/signIns", request)
  }

  // MARK: - Checks

  func asks(_ flow: FollowedFlow, _ input: JSONValue?) -> [String] {
    guard flow.kind != "authenticate" else { return [] }
    return switch input {
    case nil: [BSAWire.message(contact(flow))]
    case let input? where input["resend"] == true: [BSAWire.message(contact(flow))]
    case let input? where input["type"] == "enterCode":
      [BSAWire.check(contact(flow), input["code"])]
    default: []
    }
  }

  func evidence(_ flow: FollowedFlow, _ result: JSONValue) -> [String] {
    flow.kind == "register" ? [BSAWire.signUp(result["userKey"]?.stringValue ?? "")] : []
  }

  private func contact(_ flow: FollowedFlow) -> String {
    let params = flow.params
    let isMail = params["verifyBy"] == "email"
    let name = params["sendTarget"] ?? params["verifyData"]
    return (name ?? params[isMail ? "email" : "phoneNumber"])?.stringValue ?? ""
  }
}
