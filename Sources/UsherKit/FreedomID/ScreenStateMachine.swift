import UsherAPI

/// Which screen is to be shown as an authorization's flow moves on, and which answers still count.
///
/// A step may be told many times, as by a restart of the daemon: it is asked once, until it was
/// answered.
struct ScreenStateMachine: Sendable, Equatable {
  private enum Standing: Equatable {
    /// → asked
    case nothing
    /// The presenter shows the flow's step. → answered, asked
    case asked(Flow, ticket: Int)
    /// What the person did is handed in. → asked
    case answered(Flow)
  }

  private var standing = Standing.nothing
  private var tickets = 0

  enum Action: Sendable, Equatable {
    /// In the place of what is shown. The answer comes with the ticket.
    case show(FreedomIDScreen, FreedomIDProblem?, ticket: Int)
    case submit(FlowInput, answering: Flow)
    case giveUp
    /// The SDK has no screen for the step.
    case cannotShow(Step.Kind)
    case end(Flow)
    case nothing
  }

  mutating func moved(_ flow: Flow) -> Action {
    if flow.status.isFinished { return .end(flow) }
    if case .asked(let seen, let ticket) = standing, seen.step == flow.step,
      seen.problem == flow.problem
    {
      standing = .asked(flow, ticket: ticket)
      return .nothing
    }
    return show(flow, flow.problem.map { FreedomIDProblem($0) })
  }

  mutating func answered(_ answer: FreedomIDAnswer, ticket: Int) -> Action {
    guard case .asked(let flow, ticket) = standing else { return .nothing }
    switch answer.act {
    case .stay: return .nothing
    case .giveUp: return .giveUp
    case .submit(let input):
      standing = .answered(flow)
      return .submit(input, answering: flow)
    }
  }

  /// The answer to that revision left the flow where it is.
  mutating func unmoved(_ revision: Int, _ problem: FreedomIDProblem) -> Action {
    guard case .answered(let flow) = standing, flow.revision == revision else { return .nothing }
    return show(flow, problem)
  }

  private mutating func show(_ flow: Flow, _ problem: FreedomIDProblem?) -> Action {
    let step = flow.step ?? .wait(.init(for: "usherd"))
    guard let screen = FreedomIDScreen(step) else { return .cannotShow(step.kind) }
    tickets += 1
    standing = .asked(flow, ticket: tickets)
    return .show(screen, problem, ticket: tickets)
  }
}
