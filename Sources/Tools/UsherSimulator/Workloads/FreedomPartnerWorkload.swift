import JSONRPC

/// Freedom ID in mode `oauth2`: people sign in with a browser, ask other people for profiles, and
/// create and change users.
struct FreedomPartnerWorkload: Workload {
  let limitsTokens = true
  let approvalsKept = ApprovalsKept.once
  let provider = "freedom-partner"

  var configuration: String {
    """
    [[provider]]
    name = "freedom-partner"
    type = "freedomid"
    mode = "oauth2"
    client_id = "acme"
    client_credential = "freedom-secret"
    base_url = "\(SandboxHost.base)/freedomid"
    api_base_url = "\(SandboxHost.base)/freedomid"
    """
  }

  let credentials = ["freedom-secret": "s3cret:freedom/client+="]

  var sandboxSettings: [String: JSONValue] {
    [
      "/_control/freedomid/settings": [
        "accessTokenSeconds": .integer(Int64(FreedomWire.accessTokenSeconds))
      ]
    ]
  }

  // MARK: - Starts

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    let customer = person.customer(of: client.uid)
    let accounts = client.accounts.filter { $0.provider == provider }
    guard !accounts.isEmpty, person.random.chance(60) else {
      return NewFlow(
        kind: "authorize", params: ["grants": ["read.profile", "read.firstname"]],
        customer: customer)
    }
    let account = person.random.pick(accounts)
    let params: JSONValue = ["account": .string(account.id)]
    switch person.random.number(0...3) {
    case 0...1:
      return NewFlow(
        kind: "requestProfile",
        params: params.adding([
          "phone": .string(SandboxAccount.phone(of: customer)), "grants": ["read.firstname"],
        ]), customer: customer)
    case 2:
      return NewFlow(
        kind: "createUser",
        params: params.adding([
          "phone": .string(person.newPhone(of: client.uid)), "firstname": "New",
        ]), customer: customer)
    default:
      return NewFlow(
        kind: "updateUser",
        params: params.adding([
          "freedomId": .string(account.subject),
          "lastname": .string("Name \(person.nextNumber())"),
        ]), customer: customer)
    }
  }

  // MARK: - Answers

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    switch flow.stepType {
    case "openURL":
      let address = await FreedomPages.authorize(flow, person)
      if let code = address?.query("code") {
        // The reply for the code does not say whose it is.
        person.provided.note(person.provided.note(of: flow.customer) ?? "", of: code)
      }
      return .pasted(address)
    case "wait" where flow.state == "pending":
      // The asked person decides at a page of Freedom's.
      let page = await FreedomPages.signIn(flow, person, at: "/freedomid/me")
      let decision = person.decides(on: flow) ? "accept" : "reject"
      if let key = page.value(ofButton: decision) {
        _ = await person.press(on: page, [(decision, key)], to: "/freedomid/me")
      }
      return nil
    default: return nil
    }
  }

  // MARK: - Checks

  func needsApproval(_ flow: FollowedFlow, _ view: JSONValue) -> Bool {
    ["authorize", "requestProfile"].contains(flow.kind)
  }

  func evidence(_ flow: FollowedFlow, _ result: JSONValue) -> [String] {
    FreedomWire.members(of: result["profile"] ?? .null)
      + [result["freedomId"]?.stringValue].compactMap(\.self)
  }
}
