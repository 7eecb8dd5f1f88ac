import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Implementation of the `flow.*` methods.
struct FlowService: Sendable {
  /// The upper bound of the parameters `waitMs` and `timeoutMs`, in milliseconds.
  static let maxWait = 60_000

  let engine: FlowEngine
  let scheduler: any Scheduler
  private let lists = AsyncKeyedLock<Owner>()

  /// Reserves a place for the flow that `flow.start` is about to start, before a task is created
  /// for the call. Throws if the caller's owner has reached a limit of flows.
  func admit(_ call: FlowStart, _ caller: Caller) throws(UsherError) -> FlowReservation {
    try checkWait(call.waitMs, "waitMs")
    return try engine.admit(caller.owner)
  }

  /// Implements `flow.start`.
  ///
  /// - Parameters:
  ///   - account: The account that the flow acts on, from ``account(of:for:)``.
  ///   - subject: For whom the rules have allowed the flow to get tokens without a sign-in.
  ///   - reservation: The reservation from ``admit(_:_:)``.
  ///   - isOffered: Whether the flow may offer an account to the user.
  func start(
    _ call: FlowStart, of account: AccountID?, for subject: String?, _ caller: Caller,
    in reservation: FlowReservation, offering isOffered: @Sendable (AccountRecord) -> Bool
  ) async throws(UsherError) -> FlowStart.Reply {
    if call.provider != ProviderConfig.local.name { try caller.owner.checkMayHaveAccounts() }
    var call = call
    if let account { call.params["account"] = .string(account.rawValue) }
    let identity = try identity(of: call, for: caller)
    // Another account may be the only one by now than when the rules decided.
    if let identity, subject.map({ !$0.hasSameBytes(as: identity.subject) }) ?? true {
      throw AccountRepository.changedMeanwhile
    }
    let liveFlow = try await engine.start(
      call, owner: caller.owner, client: await caller.flowClient(engine.dependencies),
      by: identity, in: reservation,
      where: isOffered, mayHaveIDToken: { caller.mayHaveIDToken(of: $0, engine.dependencies) })
    return .init(flow: await flowAfterWait(liveFlow, call.waitMs))
  }

  func get(_ call: FlowGet, _ caller: Caller) throws(UsherError) -> FlowGet.Reply {
    let liveFlow = try engine.flow(call.flow, of: caller.owner)
    return .init(flow: shown(liveFlow.flow, of: liveFlow, to: caller))
  }

  /// Implements `flow.list`. The list calls of one owner run one at a time: encoding a thousand
  /// flows takes long, and other calls need the threads.
  func list(_ call: FlowList, _ caller: Caller) async throws(UsherError) -> FlowList.Reply {
    try await lists.withLock(caller.owner) { () throws(UsherError) in
      guard !Task.isCancelled else { throw UsherError(.cancelled, "the call was cancelled") }
      return listed(call, caller)
    }
  }

  private func listed(_ call: FlowList, _ caller: Caller) -> FlowList.Reply {
    let liveFlows = engine.flows(of: caller.owner) { liveFlow in
      (call.provider == nil || liveFlow.provider == call.provider)
        && (call.kind == nil || liveFlow.kind == call.kind)
    }
    let flows = liveFlows.map { shown($0.flow, of: $0, to: caller) }.filter { flow in
      (call.key == nil || flow.key == call.key)
        && (call.status == nil || flow.status == call.status)
    }
    return .init(flows: flows.map(withoutSecrets))
  }

  func submit(_ call: FlowSubmit, _ caller: Caller) async throws(UsherError) -> FlowSubmit.Reply {
    try checkWait(call.waitMs, "waitMs")
    let liveFlow = try await engine.submit(call, owner: caller.owner, client: caller.client)
    return .init(flow: await flowAfterWait(liveFlow, call.waitMs))
  }

  func cancel(_ call: FlowCancel, _ caller: Caller) async throws(UsherError) -> FlowCancel.Reply {
    let flow = try engine.flow(call.flow, of: caller.owner)
    guard flow.isOpen(to: caller.client) || caller.speaksForAllClients else {
      throw UsherError(
        .permissionDenied, "only the client that started flow \(flow.id) may cancel it",
        detail: .init(flow: flow.id))
    }
    let liveFlow = try await engine.cancel(call.flow, owner: caller.owner)
    return .init(flow: shown(liveFlow.flow, of: liveFlow, to: caller))
  }

  func wait(_ call: FlowWait, _ caller: Caller) async throws(UsherError) -> FlowWait.Reply {
    try checkWait(call.timeoutMs, "timeoutMs")
    let liveFlow = try engine.flow(call.flow, of: caller.owner)
    let snapshot = await liveFlow.wait(.milliseconds(call.timeoutMs), scheduler) {
      $0.revision > call.revision
    }
    return .init(
      flow: shown(liveFlow.flow(snapshot), of: liveFlow, to: caller),
      transitions: liveFlow.transitions(since: call.revision))
  }

  /// Waits until the flow has a step other than `wait`, has ended, or the time is over; then
  /// returns it.
  private func flowAfterWait(_ liveFlow: LiveFlow, _ milliseconds: Int?) async -> Flow {
    guard let milliseconds, milliseconds > 0 else { return liveFlow.flow }
    let snapshot = await liveFlow.wait(.milliseconds(milliseconds), scheduler) {
      $0.isFinished || $0.view.step.kind != .wait
    }
    return liveFlow.flow(snapshot)
  }

  private func checkWait(_ milliseconds: Int?, _ field: String) throws(UsherError) {
    guard let milliseconds, !(0...Self.maxWait).contains(milliseconds) else { return }
    throw UsherError(
      .invalidParams, "\(field) must be from 0 to \(Self.maxWait)",
      detail: .init(field: field, limit: field))
  }

  /// Returns the flow as a client may see it. Another client of the owner sees its status, but no
  /// step, no result and no text from the provider.
  private func shown(_ flow: Flow, of liveFlow: LiveFlow, to caller: Caller) -> Flow {
    guard !liveFlow.isOpen(to: caller.client) else { return flow }
    var redacted = withoutSecrets(flow)
    redacted.problem = nil
    redacted.failure = flow.failure.map { failure in
      Failure(
        reason: failure.reason, title: failure.title,
        message: "only the client that started the flow is told the reason",
        retryable: failure.retryable,
        provider: failure.provider.map { ProviderErrorCode(name: $0.name, code: $0.code) })
    }
    return redacted
  }

  private func withoutSecrets(_ flow: Flow) -> Flow {
    var redacted = flow
    redacted.step = nil
    redacted.result = nil
    return redacted
  }
}
