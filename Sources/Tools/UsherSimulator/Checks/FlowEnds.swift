import JSONRPC

/// Checks how flows end: a flow succeeds only if a person approved it, and with a result that the
/// provider gave.
final class FlowEnds {
  private let simulator: Simulator
  private let provided: ProvidedValues
  /// The flows that a person approved, by id.
  private var approved: [String: FollowedFlow] = [:]
  /// The number of flows by provider, kind and end.
  private(set) var counts: [String: Int] = [:]

  init(_ simulator: Simulator, _ provided: ProvidedValues) {
    self.simulator = simulator
    self.provided = provided
  }

  /// Records that a client sees a flow for the first time.
  func begin(_ flow: FollowedFlow) { count(flow, "started") }

  /// Records that a person does what lets a flow succeed.
  func approve(_ flow: FollowedFlow) { approved[flow.id] = flow }

  /// Checks a flow that has ended.
  func end(_ flow: FollowedFlow) {
    let view = flow.view
    let status = view["status"]?.stringValue ?? ""
    let failure = view["failure"]
    let words = [failure?["reason"], failure?["provider"]?["code"]].compactMap { $0?.stringValue }
    count(flow, ([status] + (status == "failed" ? words : [])).joined(separator: " "))
    guard status == "succeeded", let workload = Workloads.named(flow.provider) else { return }
    let name = "\(flow.provider) \(flow.kind) \(flow.id) of \(flow.uid)"
    if workload.needsApproval(flow, view), !isApproved(flow, workload) {
      simulator.fail("\(name) succeeded although nobody approved it")
    }
    // After a reload, the caller can be another client, which is not shown the result.
    guard let result = view["result"], result != .null else { return }
    for value in workload.evidence(flow, result)
    where !provided.isProvided(value, to: flow.uid) {
      simulator.fail("\(name) shows \(value), which the provider did not give")
    }
  }

  /// Whether a person approved a flow, or an earlier one whose approval is kept.
  private func isApproved(_ flow: FollowedFlow, _ workload: any Workload) -> Bool {
    if approved[flow.id] != nil {
      if workload.approvalsKept == .once { approved[flow.id] = nil }
      return true
    }
    guard workload.approvalsKept != .never else { return false }
    let earlier = approved.filter {
      let other = $0.value
      return other.uid == flow.uid && other.provider == flow.provider && other.kind == flow.kind
        && other.params == flow.params
    }
    guard let id = earlier.keys.min() else { return false }
    if workload.approvalsKept == .once { approved[id] = nil }
    return true
  }

  private func count(_ flow: FollowedFlow, _ end: String) {
    counts["\(flow.provider) \(flow.kind) \(end)", default: 0] += 1
  }
}
