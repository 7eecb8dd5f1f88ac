import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// The consequences of an event for a flow: its next state, and what to do once that is stored.
struct FlowDecision {
  /// The flow's state machine after the event.
  let machine: any FlowMachine
  var next: LiveFlow.Snapshot
  var effects: [EngineEffect] = []
  /// The account to store together with the decision, at the flow's end or before.
  var grant: AccountGrant?
  /// The preconditions of a success: accounts and consents that must still exist when it is stored.
  private(set) var preconditions: Completion.Preconditions?
  /// Whether the enrolled fingers are saved once the decision is stored.
  private(set) var savesFingers = false
  /// A warning for the log about what a successful flow could not read; nil if there is none.
  private(set) var warning: String?
  let at: Timestamp
  var cleanUp: [any ProviderCall] = []

  init(
    _ answer: EngineAnswer, _ machine: any FlowMachine, _ before: LiveFlow.Snapshot,
    at now: Timestamp
  ) {
    self.machine = machine
    next = before
    next.machine = machine
    next.view = machine.view
    next.expiresAt = machine.endsAt ?? before.expiresAt
    grant = answer.grant
    at = now
    switch answer {
    case .proceed(let effects): self.effects = effects
    case .finish(let completion):
      preconditions = completion.preconditions
      savesFingers = completion.savesFingers
      warning = completion.warning
      next.ending = FlowEnding(
        status: .succeeded, result: .object(completion.result),
        handoffSecret: completion.handoffSecret)
    case .fail(let failure, let calls):
      next.ending = FlowEnding(
        status: .failed, failure: failure, handoffSecret: machine.grantIfAbandoned?.handoffSecret)
      cleanUp = calls
    case .refuse, .ignore: break
    }
    if next.view != before.view || next.ending != before.ending {
      next.revision += 1
      next.updatedAt = now
    }
  }

  /// Returns the decision to end a flow that was cancelled or has expired.
  static func abandoning(
    _ machine: any FlowMachine, _ before: LiveFlow.Snapshot, as status: FlowStatus,
    at now: Timestamp
  ) -> FlowDecision {
    let isExpiry = status == .expired
    let abandonedGrant = machine.grantIfAbandoned
    // If the outcome of a sent call is unknown, the failure must not say that it is safe to retry.
    let stated = isExpiry ? machine.expiryFailure : nil
    let failure =
      stated
      ?? machine.failure(
        isExpiry ? .expired : .cancelled, isExpiry ? "Too late" : "Cancelled",
        (isExpiry ? "the flow was not finished in time" : "the flow was cancelled")
          + machine.unknownOutcomeSuffix
          + (abandonedGrant.map { "; " + $0.message } ?? ""),
        retryable: !machine.isOutcomeUnknown)
    var decision = FlowDecision(
      .fail(failure, cleanUp: machine.callsIfAbandoned), machine, before, at: now)
    decision.next.ending.status = status
    decision.grant = abandonedGrant?.grant
    return decision
  }

  /// Returns the failure that replaces a success if the account or consent that it relies on was
  /// removed while the flow ran. So no account is recreated and no data disclosed without consent.
  func failingPreconditions(_ before: LiveFlow.Snapshot) -> FlowDecision {
    let failure = machine.failure(
      .denied, "No longer available",
      "the account was forgotten or a consent was revoked in the meantime", retryable: true)
    return FlowDecision(.fail(failure, cleanUp: []), machine, before, at: at)
  }
}

// Failures that the flow engine decides, not the flow's machine.
extension FlowMachine {
  /// The answer for a flow whose provider credential now belongs to another provider: the flow
  /// cannot continue.
  func providerChanged(by error: UsherError) -> EngineAnswer {
    .fail(
      failure(
        .providerRejected, "Provider changed", error.message + unknownOutcomeSuffix,
        retryable: !isOutcomeUnknown),
      cleanUp: callsIfAbandoned)
  }

  /// Returns the answer for a flow if the store refuses the decision about an event, for instance
  /// because the owner's data was deleted. Undoes the event's call.
  func storeRefused(_ event: EngineEvent) -> EngineAnswer {
    var calls: [any ProviderCall] = callsIfAbandoned
    if case .called(let call, let outcome) = event { calls += compensation.cleanUp(call, outcome) }
    return .fail(
      failure(
        .denied, "Not stored", "the flow's next state was not stored" + unknownOutcomeSuffix,
        retryable: !isOutcomeUnknown),
      cleanUp: calls)
  }

  /// The answer for a flow whose OAuth `state` is already used by another flow. Only a
  /// `params.state` that the caller chose can collide; the daemon's own states are random.
  var stateInUse: EngineAnswer {
    .fail(
      failure(
        .invalidRequest, "State in use",
        "params.state is in use: start another flow with a new random state", retryable: true),
      cleanUp: callsIfAbandoned)
  }

  /// The end of a failure message, which says that the outcome of a sent call is unknown, if it is.
  fileprivate var unknownOutcomeSuffix: String {
    unknownOutcome.map { "; " + $0 } ?? ""
  }

  fileprivate func failure(
    _ reason: Failure.Reason, _ title: String, _ message: String, retryable: Bool
  ) -> Failure {
    Failure(
      reason: reason, title: title, message: message, retryable: retryable,
      provider: Self.providerErrorCode(for: reason, provider: provider.name))
  }
}

extension EngineAnswer {
  /// The account grant that the answer stores; nil if it stores none.
  fileprivate var grant: AccountGrant? {
    switch self {
    case .finish(let completion): return completion.grant
    case .proceed(let effects):
      let grants = effects.compactMap(\.grant)
      assert(grants.count < 2, "an answer keeps one account at most")
      return grants.first
    case .fail, .refuse, .ignore: return nil
    }
  }
}

extension EngineEffect {
  fileprivate var grant: AccountGrant? {
    if case .store(let grant) = self { return grant }
    return nil
  }
}
