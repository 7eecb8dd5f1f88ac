import UsherAPI

/// Decides which screen to show when the flow of an authorization changes, and which answers count.
///
/// The same step may come several times, such as after a restart of the daemon. It is shown once
/// until it is answered.
struct ScreenStateMachine: Sendable, Equatable {
  private enum State: Equatable {
    /// No screen was shown. → asked
    case nothing
    /// The presenter shows the flow's step. → answered, asked
    case asked(Flow, ticket: Int)
    /// The answer is submitted. → asked
    case answered(Flow)
  }

  private var state = State.nothing
  private var tickets = 0

  enum Action: Sendable, Equatable {
    /// Show a screen in place of the present one. Its answer carries the ticket.
    case show(FreedomIDScreen, FreedomIDProblem?, ticket: Int)
    case submit(FlowInput, answering: Flow)
    case giveUp
    /// The SDK has no screen for the step.
    case cannotShow(Step.Kind)
    case end(Flow)
    case nothing
  }

  mutating func flowChanged(_ flow: Flow) -> Action {
    if flow.status.isFinished { return .end(flow) }
    if case .asked(let seen, let ticket) = state, seen.step == flow.step,
      seen.problem == flow.problem
    {
      state = .asked(flow, ticket: ticket)
      return .nothing
    }
    return show(flow, flow.problem.map { FreedomIDProblem($0) })
  }

  mutating func answered(_ answer: FreedomIDAnswer, ticket: Int) -> Action {
    guard case .asked(let flow, ticket) = state else { return .nothing }
    switch answer.act {
    case .stay: return .nothing
    case .giveUp: return .giveUp
    case .submit(let input):
      state = .answered(flow)
      return .submit(input, answering: flow)
    }
  }

  /// Handles an answer that left the flow at the revision that was answered.
  mutating func flowUnchanged(_ revision: Int, _ problem: FreedomIDProblem) -> Action {
    guard case .answered(let flow) = state, flow.revision == revision else { return .nothing }
    return show(flow, problem)
  }

  private mutating func show(_ flow: Flow, _ problem: FreedomIDProblem?) -> Action {
    let step = flow.step ?? .wait(.init(for: "usherd"))
    guard let screen = FreedomIDScreen(step) else { return .cannotShow(step.kind) }
    tickets += 1
    state = .asked(flow, ticket: tickets)
    return .show(screen, problem, ticket: tickets)
  }
}
