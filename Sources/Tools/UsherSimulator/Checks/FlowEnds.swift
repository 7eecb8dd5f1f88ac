import JSONRPC

/// Checks how flows end: a flow succeeds only if a person approved it, and with a result that the
/// provider gave.
final class FlowEnds {
  private let simulator: Simulator
  private let provided: ProvidedValues
  private var approved: Set<String> = []
  /// The number of flows by provider, kind and end.
  private(set) var counts: [String: Int] = [:]

  init(_ simulator: Simulator, _ provided: ProvidedValues) {
    self.simulator = simulator
    self.provided = provided
  }

  /// Records that a client sees a flow for the first time.
  func begin(_ flow: FollowedFlow) { count(flow, "started") }

  /// Records that a person does what lets a flow succeed.
  func approve(_ flow: String) { approved.insert(flow) }

  /// Checks a flow that has ended.
  func end(_ flow: FollowedFlow) {
    let view = flow.view
    let status = view["status"]?.stringValue ?? ""
    let failure = view["failure"]
    let words = [failure?["reason"], failure?["provider"]?["code"]].compactMap { $0?.stringValue }
    count(flow, ([status] + (status == "failed" ? words : [])).joined(separator: " "))
    guard status == "succeeded", let workload = Workloads.named(flow.provider) else { return }
    let name = "\(flow.provider) \(flow.kind) \(flow.id) of \(flow.uid)"
    if workload.needsApproval(flow, view), !approved.contains(flow.id) {
      simulator.fail("\(name) succeeded although nobody approved it")
    }
    for value in workload.evidence(flow, view["result"] ?? .null)
    where !provided.isProvided(value, to: flow.uid) {
      simulator.fail("\(name) shows \(value), which the provider did not give")
    }
  }

  private func count(_ flow: FollowedFlow, _ end: String) {
    counts["\(flow.provider) \(flow.kind) \(end)", default: 0] += 1
  }
}
