import Logging
import UsherAPI
import UsherConfig
import UsherCore

// Publication of a flow's progress: events for subscribers and entries for the journal.
extension FlowEngine {
  enum Progress: String {
    case started, moved, finished
  }

  func publish(_ what: Progress, _ live: LiveFlow, at now: Timestamp) {
    let flow = live.flow
    let event = Event(
      topic: .flow, what: what.rawValue, at: now, provider: flow.provider, flow: flow.id,
      kind: flow.kind, status: flow.status, state: flow.state, revision: flow.revision,
      step: flow.step?.kind)
    events.publish(event, owner: live.owner)
    switch what {
    case .started:
      record(.flowBegins, "flow started", flow, live)
      if flow.status.isFinished { record(.flowEnds, "flow finished", flow, live) }
    case .moved: record(.flowMoves, "flow moved", flow, live)
    case .finished: record(.flowEnds, "flow finished", flow, live)
    }
  }

  private func record(
    _ what: JournalMessage, _ sentence: Logger.Message, _ flow: Flow, _ live: LiveFlow
  ) {
    guard dependencies.log.logLevel <= .info else { return }
    var metadata = live.metadata.merging(what.metadata) { $1 }
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
    dependencies.log.info(sentence, metadata: metadata)
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
