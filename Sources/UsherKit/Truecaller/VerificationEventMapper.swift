import UsherClient

/// Converts the changes of a flow into the events of its phone verification.
///
/// A problem during a `wait` step is not reported: the daemon tries again by itself, and the end of
/// the flow is the outcome.
struct VerificationEventMapper: Sendable, Equatable {
  /// The flow's revision up to which all events were returned; 0 if there were none.
  private(set) var revision = 0
  private var state = ""
  /// The revision of a flow that was taken up. Its problem was reported to an earlier program.
  private var takenUpRevision = 0

  /// Returns the events of a change of the flow.
  ///
  /// - Parameter transitions: The transitions since ``revision``; empty if there was only one.
  mutating func events(for flow: Flow, _ transitions: [Transition]) -> [TCVerificationEvent] {
    guard flow.revision > revision else { return [] }
    let known = (revision + 1)...flow.revision
    let entered = transitions.filter { known.contains($0.revision) }.map(\.state)
    var events = (entered.isEmpty ? [flow.state] : entered).compactMap { move(to: $0) }
    revision = flow.revision
    if flow.status.isFinished {
      events.append(outcome(flow))
    } else if let problem = flow.problem, flow.isSettled, revision != takenUpRevision {
      events.append(.failed(TCError(KitError(problem))))
    }
    return events
  }

  private mutating func move(to newState: String) -> TCVerificationEvent? {
    guard newState != state else { return nil }
    defer { state = newState }
    let news = TCVerificationState(flowState: newState)
    // After a code that was not accepted, no other code has been sent.
    if news == .otpInitiated, state == "verifying" { return nil }
    return news.map { .state($0) }
  }

  private func outcome(_ flow: Flow) -> TCVerificationEvent {
    if let failure = flow.failure { return .failed(TCError(KitError(failure))) }
    guard flow.status == .succeeded, let profile = flow.result?["profile"] else {
      return .failed(TCError(KitError(.unexpected, "the verification ended without a profile")))
    }
    return .profile(TCTrueProfile(profile))
  }
}

extension VerificationEventMapper {
  /// Creates the mapper for an existing flow whose present state is the first event, as that of a
  /// flow that has just been started.
  init(takingUp flow: Flow) {
    revision = flow.revision - 1
    takenUpRevision = flow.revision
  }

  /// Creates the mapper for an existing flow, whose present state is not reported.
  init(resuming flow: Flow) {
    revision = flow.revision
    state = flow.state
  }
}
