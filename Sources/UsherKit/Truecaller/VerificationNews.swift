import JSONRPC
import UsherAPI

/// What a flow's changes mean to those who hear of its verification.
///
/// A problem of a step that only waits is not told: the daemon tries again by itself, and its last
/// word is the flow's end.
struct VerificationNews: Sendable, Equatable {
  /// Up to which revision everything is told.
  private(set) var revision: Int
  private var state: String
  /// A state of success. It is told when the flow has ended: only then there is the access token
  /// that the SDK promises with it.
  private var held: TCVerificationState?

  /// Of a flow that was just begun: nothing is told yet.
  init() {
    revision = 0
    state = ""
  }

  /// Of a flow that somebody else began: how it stands now is no news.
  init(takingUp flow: Flow) {
    revision = flow.revision
    state = flow.state
  }

  /// - Parameter transitions: What happened since ``revision``; empty where it was one thing.
  mutating func take(_ flow: Flow, _ transitions: [Transition]) -> [TCVerificationEvent] {
    guard flow.revision > revision else { return [] }
    let known = (revision + 1)...flow.revision
    let entered = transitions.filter { known.contains($0.revision) }.map(\.state)
    var events = (entered.isEmpty ? [flow.state] : entered).compactMap { enter($0) }
    revision = flow.revision
    if flow.status.isFinished {
      events += end(flow)
    } else if let problem = flow.problem, flow.stands {
      events.append(.failed(TCError(KitError(problem))))
    }
    return events
  }

  private mutating func enter(_ word: String) -> TCVerificationEvent? {
    guard word != state else { return nil }
    defer { state = word }
    switch TCVerificationState(word: word) {
    case .otpInitiated:
      return TCVerificationState(word: state) == .otpReceived ? nil : .state(.otpInitiated)
    case .otpReceived: return .state(.otpReceived)
    case .verificationComplete: held = .verificationComplete
    case .verifiedBefore: held = .verifiedBefore
    case nil: break
    }
    return nil
  }

  private mutating func end(_ flow: Flow) -> [TCVerificationEvent] {
    defer { held = nil }
    return (held.map { [.state($0)] } ?? []) + [outcome(flow)]
  }

  private func outcome(_ flow: Flow) -> TCVerificationEvent {
    if let failure = flow.failure { return .failed(TCError(KitError(failure))) }
    guard flow.status == .succeeded, let profile = flow.result?["profile"] else {
      return .failed(TCError(KitError(.unexpected, "the verification ended without a profile")))
    }
    return .profile(TCTrueProfile(profile))
  }
}
