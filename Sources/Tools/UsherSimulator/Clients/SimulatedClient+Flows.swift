import JSONRPC

extension SimulatedClient {
  /// A flow that the client started and follows.
  struct Flow {
    var revision: JSONValue
    /// The phone number or address to which the provider sends a code.
    let target: String?
    /// The revision at which the person was last asked for something.
    var shown: JSONValue = 0
  }

  func newFlow() -> JSONValue {
    let phone = SandboxAccount.phone(of: uid)
    return random.pick(weighted: [
      (4, ["provider": "demo", "kind": "device", "params": [:]]),
      (4, ["provider": "demo", "kind": "authorize", "params": [:]]),
      (
        1,
        [
          "provider": "truecaller", "kind": "verifyPhone",
          "params": ["phoneNumber": .string(phone), "countryCode": "IN"],
        ]
      ),
      (
        1,
        [
          "provider": "bsa", "kind": "verifyContact",
          "params": ["sendType": "email", "sendTarget": .string(SandboxAccount.email(of: uid))],
        ]
      ),
    ])
  }

  func follow(_ call: Call, _ message: JSONValue) {
    if let list = message["result"]?["accounts"]?.arrayValue {
      accounts = list.compactMap { $0["id"]?.stringValue }
    }
    guard let flow = message["result"]?["flow"], let id = flow["id"]?.stringValue else { return }
    guard flow["status"] == "active" else {
      flows[id] = nil
      return
    }
    var known = flows[id] ?? Flow(revision: 0, target: call.target)
    known.revision = flow["revision"] ?? 0
    if known.shown != known.revision, let step = flow["step"] {
      known.shown = known.revision
      show(step, of: id, known)
    }
    flows[id] = known
  }

  /// Shows a step to the person, and submits what the person enters.
  private func show(_ step: JSONValue, of id: String, _ flow: Flow) {
    switch step["type"]?.stringValue {
    case "displayCode": person.enter(step["userCode"]?.stringValue ?? "", of: uid)
    case "openURL":
      person.open(step["url"]?.stringValue ?? "", of: uid) { [self] address in
        submit(["type": "openURL", "redirectURL": .string(address)], to: id, flow.revision)
      }
    case "enterCode":
      guard let target = flow.target else { return }
      person.readCode(sentTo: target) { [self] code in
        let names: JSONValue = ["firstName": "First", "lastName": "Last"]
        let fields: JSONValue = step["alsoAsk"]?.arrayValue?.isEmpty == false ? names : [:]
        submit(
          ["type": "enterCode", "code": .string(code), "fields": fields], to: id, flow.revision)
      }
    default: break
    }
  }

  private func submit(_ input: JSONValue, to flow: String, _ revision: JSONValue) {
    simulator.mayLoopsHaveWork = true
    send("flow.submit", ["flow": .string(flow), "revision": revision, "input": input])
  }
}

extension JSONValue {
  /// The phone number or address in the parameters of a flow.
  var target: String? {
    if let number = self["phoneNumber"]?.stringValue { return "%2B91\(number)" }
    return self["sendTarget"]?.stringValue
  }
}
