import JSONRPC

extension SimulatedClient {
  /// A flow that the client started and follows.
  struct Flow {
    var followed: FollowedFlow
    /// The revision at which the person was last asked for something.
    var shown: JSONValue = 0
    /// Whether the client is about to wait for the next revision.
    var isWaiting = false

    var revision: JSONValue { followed.view["revision"] ?? 0 }
  }

  /// Starts a flow that people choose.
  func startFlow(cut: Bool) {
    person.propose(to: FlowStarter(uid: uid, accounts: accounts)) { [self] provider, flow in
      simulator.mayLoopsHaveWork = true
      let start = FollowedFlow(
        uid: uid, provider: provider, kind: flow.kind, params: flow.params, customer: flow.customer)
      var params: JSONValue = [
        "provider": .string(provider), "kind": .string(flow.kind), "params": flow.params,
      ]
      params["requestId"] = flow.requestID.map { .string($0) }
      send(
        "flow.start", params, start: start, asks: Workloads.asks(start, nil), cut: cut)
    }
  }

  func follow(_ call: Call, _ message: JSONValue) {
    if let list = message["result"]?["accounts"]?.arrayValue {
      accounts = list.compactMap { account in
        guard let id = account["id"]?.stringValue, let subject = account["subject"]?.stringValue,
          let provider = account["provider"]?.stringValue
        else { return nil }
        return FlowStarter.Account(id: id, provider: provider, subject: subject)
      }
    }
    guard let view = message["result"]?["flow"], let id = view["id"]?.stringValue,
      var flow = flows[id] ?? begin(call, id)
    else { return }
    // A slow answer may show an older revision.
    guard (view["revision"]?.integerValue ?? 0) >= (flow.revision.integerValue ?? 0) else { return }
    flow.followed.view = view
    guard view["status"] == "active" else {
      flows[id] = nil
      checks.ends.end(flow.followed)
      // The flow may have made an account.
      if view["status"] == "succeeded" { send("account.list", [:]) }
      return
    }
    if flow.shown != flow.revision {
      flow.shown = flow.revision
      let followed = flow.followed
      person.attend(to: followed) { [self] input in submit(input, to: followed) }
    }
    flows[id] = flow
    waitForChange(of: id)
  }

  private func begin(_ call: Call, _ id: String) -> Flow? {
    guard var followed = call.start else { return nil }
    followed.id = id
    checks.ends.begin(followed)
    return Flow(followed: followed)
  }

  /// Waits for the next revision of a flow, after a pause.
  private func waitForChange(of id: String) {
    guard flows[id]?.isWaiting == false else { return }
    flows[id]?.isWaiting = true
    simulator.after(random.duration(.milliseconds(1) ... .seconds(10))) { [self] in
      guard let flow = flows[id] else { return }
      flows[id]?.isWaiting = false
      simulator.mayLoopsHaveWork = true
      send(
        "flow.wait",
        ["flow": .string(id), "revision": flow.revision, "timeoutMs": 30_000])
    }
  }

  private func submit(_ input: JSONValue, to flow: FollowedFlow) {
    simulator.mayLoopsHaveWork = true
    send(
      "flow.submit",
      ["flow": .string(flow.id), "revision": flow.view["revision"] ?? 0, "input": input],
      asks: Workloads.asks(flow, input))
  }
}
