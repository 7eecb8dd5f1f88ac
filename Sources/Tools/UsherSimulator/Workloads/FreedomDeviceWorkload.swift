import JSONRPC
import UsherSandbox

/// Freedom ID in mode `device`: people sign in with codes and passwords, prove their presence, and
/// choose what a client may see of their profiles.
struct FreedomDeviceWorkload: Workload {
  let limitsTokens = true
  let provider = "freedom-device"

  var configuration: String {
    """
    [[provider]]
    name = "freedom-device"
    type = "freedomid"
    mode = "device"
    api_key_credential = "freedom-api-key"
    consent_days = 365
    base_url = "\(SandboxHost.base)/freedomid"
    """
  }

  let credentials = ["freedom-api-key": "s3cret:freedom/api-key"]

  /// The second account of each user has a second factor.
  var sandboxSettings: [String: JSONValue] {
    let second = SandboxAccount.all.map(\.username).filter { $0.hasSuffix("-2") }
    return Dictionary(
      uniqueKeysWithValues: second.map {
        ("/_control/freedomid/people/\($0)", ["twoFactor": "sms"])
      })
  }

  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow? {
    let grants = ["read.firstname", "read.phone", "read.email", "read.country"]
      .filter { _ in person.random.chance(60) }
    return NewFlow(
      kind: "authorize", params: ["grants": .array(grants.map { .string($0) })],
      customer: person.customer(of: client.uid))
  }

  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue? {
    switch flow.stepType {
    case "choose": return choose(flow, person)
    case "fillForm":
      let isPhone = flow.step["fields"]?[0]?["name"] == "phone"
      return .fields([
        isPhone ? "phone" : "email":
          .string(
            isPhone
              ? SandboxAccount.phone(of: flow.customer) : SandboxAccount.email(of: flow.customer))
      ])
    case "enterPassword":
      let password = person.random.chance(90) ? SandboxAccount.password : "wrong"
      return ["type": "enterPassword", "password": .string(password)]
    case "enterCode":
      if person.random.chance(10) { return .resend }
      let phone = SandboxAccount.phone(of: flow.customer)
      return await person.typesCode(sentTo: phone, by: "freedomid").map { .code($0.text) }
    case "localAuth": return person.provesPresence(in: flow)
    case "consent": return consent(flow, person)
    default: return nil
    }
  }

  private func choose(_ flow: FollowedFlow, _ person: Person) -> JSONValue? {
    let options = flow.step["options"]?.arrayValue?.compactMap { $0["id"] } ?? []
    let known = options.filter { $0 != "other" }
    guard !known.isEmpty else { return nil }
    let id =
      options.count > known.count && person.random.chance(20)
      ? "other" : person.random.pick(known)
    return ["type": "choose", "id": id]
  }

  private func consent(_ flow: FollowedFlow, _ person: Person) -> JSONValue {
    guard person.random.chance(90) else { return ["type": "consent", "denied": true] }
    person.approve(flow)
    let grants = flow.step["grants"]?.arrayValue ?? []
    let asked = grants.filter { $0["remembered"] != true }.compactMap { $0["id"] }
    let granted = asked.count > 1 && person.random.chance(30) ? [asked[0]] : asked
    return ["type": "consent", "granted": .array(granted)]
  }

  func asks(_ flow: FollowedFlow, _ input: JSONValue?) -> [String] {
    guard let input else { return [] }
    let (phone, email) = (
      SandboxAccount.phone(of: flow.customer), SandboxAccount.email(of: flow.customer)
    )
    switch input["type"]?.stringValue {
    case "fillForm" where input["fields"]?["phone"] != nil: return [FreedomWire.message(phone)]
    case "enterCode" where input["resend"] == true: return [FreedomWire.message(phone)]
    case "enterCode": return [FreedomWire.check(phone, input["code"])]
    case "enterPassword":
      // Which of the names was typed, the step does not say.
      return [phone, email].map { FreedomWire.password($0, input["password"]) }
    default: return []
    }
  }

  func evidence(_ flow: FollowedFlow, _ result: JSONValue) -> [String] {
    FreedomWire.members(of: result["profile"] ?? .null)
  }
}
