import Logging
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem

// Publication of a flow's progress: events for subscribers and entries for the journal.
extension FlowEngine {
  enum Progress: String {
    case started, moved, finished

    /// The message ID (`MESSAGE_ID`) of the journal entries, by which they can be found
    /// (Service.md, "In the journal"). An ID is never changed or reused.
    fileprivate var messageID: String {
      switch self {
      case .started: "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c21"
      case .moved: "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c22"
      case .finished: "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c23"
      }
    }
  }

  func publish(_ what: Progress, _ live: LiveFlow, at now: Timestamp) {
    let flow = live.flow
    let event = Event(
      topic: .flow, what: what.rawValue, at: now, provider: flow.provider, flow: flow.id,
      kind: flow.kind, status: flow.status, state: flow.state, revision: flow.revision,
      step: flow.step?.kind)
    events.publish(event, owner: live.owner)
    record(what, flow, live)
    if what == .started, flow.status.isFinished { record(.finished, flow, live) }
  }

  private func record(_ what: Progress, _ flow: Flow, _ live: LiveFlow) {
    guard dependencies.log.logLevel <= .info else { return }
    var metadata = live.metadata
    metadata[LogEntry.messageIDKey] = .string(what.messageID)
    metadata["kind"] = .string(flow.kind)
    metadata["state"] = .string(flow.state)
    metadata["status"] = .string(flow.status.rawValue)
    metadata["revision"] = .stringConvertible(flow.revision)
    if let step = flow.step { metadata["step"] = .string(step.kind.rawValue) }
    if let problem = flow.problem { metadata["problem"] = .string(problem.reason) }
    if let failure = flow.failure {
      metadata["reason"] = .string(failure.reason.rawValue)
      // The message of a protocol error names the violated rule. Messages of other failures may
      // contain text from the provider, so they are not logged.
      if failure.reason == .providerProtocolError { metadata["cause"] = .string(failure.message) }
    }
    dependencies.log.info("flow \(what.rawValue)", metadata: metadata)
  }
}

extension LiveFlow {
  /// The journal fields that identify the flow, and the correlation id of the current RPC call.
  var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = [
      "flow": .string(id.rawValue), "provider": .string(provider.rawValue),
      "client": .string(label),
    ]
    if let correlation = Cause.correlation {
      metadata["correlationId"] = .string(correlation.rawValue)
    }
    return metadata
  }

  private var label: String {
    guard let client, client != CallerPolicy.ownPrograms else { return "uid \(uid)" }
    return client
  }
}
