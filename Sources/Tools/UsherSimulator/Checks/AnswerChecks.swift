import JSONRPC
import UsherCore

/// Checks each answer of the daemon against what really happened.
final class AnswerChecks {
  private let simulator: Simulator
  private let history: TokenHistory
  let acknowledged: Acknowledged
  let access = KnownAccess()
  /// Called when a call is sent.
  var onCall: (SimulatedClient.Call) -> Void = { _ in }
  let ends: FlowEnds
  var provided: ProvidedValues { history.provided }
  /// The number of answers by method and the reason of the error, or `ok`.
  private(set) var counts: [String: Int] = [:]
  /// The number of sent calls by method.
  private(set) var sent: [String: Int] = [:]

  private static let refusals: Set = [
    "locked", "permission_denied", "conflict", "flow_finished", "invalid_input", "invalid_params",
    "unexpected_input", "not_found", "rate_limited",
  ]

  init(_ simulator: Simulator, _ history: TokenHistory) {
    self.simulator = simulator
    self.history = history
    acknowledged = Acknowledged(simulator)
    ends = FlowEnds(simulator, history.provided)
  }

  /// Records a call that is sent.
  func begin(_ call: SimulatedClient.Call) {
    sent[call.method, default: 0] += 1
    acknowledged.begin(call)
    onCall(call)
    history.singles.ask(for: call.asks)
  }

  func check(_ call: SimulatedClient.Call, _ message: JSONValue) {
    let reason = message["error"]?["data"]?["reason"]?.stringValue
    counts["\(call.method) \(message["error"] == nil ? "ok" : reason ?? "error")", default: 0] += 1
    guard (message["result"] == nil) != (message["error"] == nil) else {
      return simulator.fail("\(call.client): the answer has a result and an error, or neither")
    }
    if reason == "internal_error" {
      simulator.fail(
        "\(call.client): \(call.method) failed with an internal error: "
          + (message["error"]?["message"]?.stringValue ?? ""))
    }
    checkAccess(call, reason)
    // With these errors the daemon has accepted nothing.
    if Self.refusals.contains(reason ?? "") { history.singles.withdraw(call.asks) }
    if reason == "not_found" { acknowledged.checkNotFound(call) }
    if let result = message["result"] { check(result, of: call) }
    acknowledged.end(call, message["error"] == nil ? nil : reason ?? "")
  }

  /// Checks that the call was permitted, or refused, as the lock and the configuration say.
  private func checkAccess(_ call: SimulatedClient.Call, _ reason: String?) {
    if call.isForeign, reason == nil {
      simulator.fail("\(call.client): \(call.method) succeeded for an object of another user")
    }
    guard !call.isUngated else { return }
    switch access.isLocked.since(call.sentAt) {
    case true? where reason == nil:
      simulator.fail("\(call.client): \(call.method) succeeded although the daemon is locked")
    case false? where reason == "locked":
      simulator.fail("\(call.client): \(call.method) is refused although nothing is locked")
    default: break
    }
    guard ["token.get", "token.proof"].contains(call.method),
      let denied = access.denied.since(call.sentAt)
    else { return }
    if denied.contains(call.uid), reason == nil {
      simulator.fail("\(call.client) received a token that the rules deny")
    }
    if !denied.contains(call.uid), reason == "permission_denied",
      Workloads.named(call.provider ?? "")?.limitsTokens != true
    {
      simulator.fail("\(call.client) is refused a token that no rule denies")
    }
  }

  private func check(_ result: JSONValue, of call: SimulatedClient.Call) {
    if let accounts = result["accounts"]?.arrayValue {
      check(accounts, for: call)
      acknowledged.check(list: accounts, call)
    }
    if let account = result["account"], account["subject"] != nil { check([account], for: call) }
    for flow in result["flows"]?.arrayValue ?? [] { acknowledged.check(flow: flow, call) }
    if let flow = result["flow"] { acknowledged.check(flow: flow, call) }
    if let token = result["accessToken"]?.stringValue { check(token, call, result) }
    if let token = result["idToken"]?.stringValue { check(idToken: token, call, result) }
  }

  /// Checks that accounts are the caller's.
  private func check(_ accounts: [JSONValue], for call: SimulatedClient.Call) {
    for account in accounts {
      let subject = account["subject"]?.stringValue ?? ""
      if !provided.mayBelong(subject, to: call.uid) {
        simulator.fail("\(call.client) of \(call.uid) is told of the account \(subject)")
      }
    }
  }

  private func check(_ token: String, _ call: SimulatedClient.Call, _ result: JSONValue) {
    if provided.isKnown(token) {
      if !provided.mayBelong(token, to: call.uid) {
        simulator.fail("\(call.client) of \(call.uid) received a token of another user")
      }
      return
    }
    guard let issue = history.issue(of: token) else {
      return simulator.fail("\(call.client) received a token that no provider issued")
    }
    let (account, client) = (issue.grant.account, call.client)
    checkOwner(of: issue.grant, call)
    let id = result["account"]?.stringValue
    if issue.audience != call.audience {
      simulator.fail(
        "\(client) asked for a token for \(call.audience ?? "no audience") and received one for "
          + (issue.audience ?? "none"))
    }
    // The answer may have waited for a client that reads late.
    let isClockRight =
      issue.isEndATime ? !acknowledged.wasClockSet : isComparable(history.clock(), issue.clock)
    if issue.end <= call.sentAt, isClockRight {
      simulator.fail(
        "\(client) received token \(issue.generation) of \(account), which had ended "
          + "\((call.sentAt - issue.end) / 1_000_000) ms before the call")
    }
    if acknowledged.wasRevoked(id, issue, before: call.sentAt) {
      simulator.fail(
        "\(client) received token \(issue.generation) of \(account), which was revoked before the "
          + "call")
    }
    let newest = issue.grant.newestHandedOut(for: issue.audience, at: call.sentAt)
    if issue.generation < newest {
      simulator.fail(
        "\(client) received token \(issue.generation) of \(account) after \(newest) was handed out")
    }
    checkBinding(of: issue, call, result)
    issue.grant.handOut(
      issue.generation, for: issue.audience, at: simulator.now, isExchanged: issue.isExchanged)
  }

  /// Checks that the daemon says truly whether a token is bound to a key, and that a proof which it
  /// hands out is by that key.
  private func checkBinding(
    of issue: TokenHistory.Issue, _ call: SimulatedClient.Call, _ result: JSONValue
  ) {
    let (account, key) = (issue.grant.account, issue.grant.key)
    if (result["tokenType"] == "DPoP") != (key != nil) {
      simulator.fail(
        "\(call.client) received a token of \(account) as one of type "
          + "\(result["tokenType"]?.stringValue ?? "none"), but it is "
          + (key == nil ? "bound to no key" : "bound to a key"))
    }
    guard call.method == "token.proof" else { return }
    guard let proof = result["proof"]?.stringValue.flatMap({ UnverifiedToken($0) }),
      key != nil, proof.key == key
    else {
      return simulator.fail(
        "\(call.client) received no proof by the key to which the token of \(account) is bound")
    }
    history.proofs.use(proof, of: call.client)
  }

  private func check(idToken: String, _ call: SimulatedClient.Call, _ result: JSONValue) {
    guard let issue = history.issue(ofIDToken: idToken) else {
      return simulator.fail("\(call.client) received an ID token that no provider issued")
    }
    checkOwner(of: issue.grant, call)
    if issue.end <= call.sentAt, isComparable(history.clock(), issue.clock) {
      simulator.fail(
        "\(call.client) received an ID token of \(issue.grant.account), which had ended "
          + "\((call.sentAt - issue.end) / 1_000_000) ms before the call")
    }
  }

  /// Checks that a token is of the caller's account, and of the account that the call names.
  private func checkOwner(of grant: Grant, _ call: SimulatedClient.Call) {
    if provided.owner(of: grant.account) != call.uid {
      simulator.fail("\(call.client) of \(call.uid) received a token of \(grant.account)")
    }
    if let asked = call.account, let name = acknowledged.name(of: asked),
      SandboxAccount.name(of: name) != grant.account
    {
      simulator.fail(
        "\(call.client) asked for a token of \(name) and received one of \(grant.account)")
    }
  }

  /// Whether the daemon can know how much time passed between two states of the clocks: a machine
  /// that was booted again, and whose clock was set, cannot.
  private func isComparable(
    _ now: TokenHistory.MachineClock, _ then: TokenHistory.MachineClock
  ) -> Bool { then.boot == now.boot || then.error == now.error }
}
