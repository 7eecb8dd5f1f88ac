import JSONRPC

/// Truecaller: people verify phone numbers by codes in messages, and tell their names.
struct TruecallerWorkload: Workload {
  let provider = "truecaller"
  /// A number that was verified once needs no code.
  let approvalsKept = ApprovalsKept.always

  var configuration: String {
    """
    [[provider]]
    name = "truecaller"
    type = "truecaller"
    app_key_credential = "truecaller-app-key"
    app_link = "https://acme.example.com/truecaller"
    validation = "v2_8"
    otp_base_url = "\(SandboxHost.base)/truecaller"
    profile_base_url_eu = "\(SandboxHost.base)/truecaller/eu"
    profile_base_url_noneu = "\(SandboxHost.base)/truecaller/noneu"
    validation_base_url = "\(SandboxHost.base)/truecaller/validation"
    """
  }

  let credentials = ["truecaller-app-key": "s3cret:app/key+="]

  var sandboxSettings: [String: JSONValue] {
    [
      "/_control/truecaller/settings": [
        "numberDailyCap": 1000, "installationDailyCap": 1000, "tokenTtl": 120,
      ]
    ]
  }

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    // Some numbers are verified again.
    let customer = person.customer(of: client.uid)
    let phone =
      person.random.chance(30)
      ? SandboxAccount.phone(of: customer) : person.newPhone(of: client.uid)
    return NewFlow(
      kind: "verifyPhone",
      params: ["phoneNumber": .string(String(phone.dropFirst(3))), "countryCode": "IN"],
      customer: customer)
  }

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    guard flow.stepType == "enterCode" else { return nil }
    if person.random.chance(10) { return .resend }
    guard let code = await person.typesCode(sentTo: phone(flow), by: "truecaller") else {
      return nil
    }
    let isNamed = person.random.chance(90)
    if code.isRight, isNamed { person.approve(flow) }
    return .code(
      code.text, fields: ["firstName": isNamed ? "First" : "123", "lastName": "Last"])
  }

  func asks(_ flow: FollowedFlow, _ input: JSONValue?) -> [String] {
    switch input {
    case nil: [TruecallerWire.message(phone(flow))]
    case let input? where input["resend"] == true: [TruecallerWire.message(phone(flow))]
    case let input?: [TruecallerWire.check(phone(flow), input["code"])]
    }
  }

  func evidence(_ flow: FollowedFlow, _ result: JSONValue) -> [String] {
    [result["profile"]?["phoneNumber"]?.stringValue ?? "no number"]
  }

  private func phone(_ flow: FollowedFlow) -> String {
    "+91\(flow.params["phoneNumber"]?.stringValue ?? "")"
  }
}
