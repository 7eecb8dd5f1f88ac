import Testing
import UsherAPI
import UsherCore

@testable import UsherKit

@Suite("State machine of BSA's local authentication prompt")
struct LocalAuthStateMachineTests {
  private let step = Step.localAuth(
    .init(methods: [.biometric], reason: "open the till", scanning: true))
  private let question = BSA.LocalAuth.Question(
    reason: "open the till", isScanning: true, takesFinger: true, takesPasscode: false,
    problem: nil)

  private func flow(_ revision: Int, _ step: Step?, problem: Problem? = nil) -> Flow {
    Flow(
      id: FlowID("flw_1"), provider: ProviderName("local"), kind: "authenticate",
      status: .active, state: "s", revision: revision, step: step, problem: problem,
      createdAt: Timestamp(seconds: 0), updatedAt: Timestamp(seconds: 0),
      expiresAt: Timestamp(seconds: 600))
  }

  @Test("a repeated local authentication step is asked once and answered at its latest revision")
  func toldAgain() throws {
    var machine = LocalAuthStateMachine()
    #expect(!machine.hasAsked)
    let asks = try machine.flowChanged(flow(1, step))
    #expect(asks == .ask(question, ticket: 1))
    let again = try machine.flowChanged(flow(2, step))
    #expect(again == .nothing && machine.hasAsked)
    let answered = machine.answered(.cancel, ticket: 1)
    #expect(answered == .submit(.cancelLocalAuth, answering: flow(2, step)))
    let twice = machine.answered(.fallback, ticket: 1)
    #expect(twice == .nothing)
  }

  @Test(
    "a local authentication step with a new problem is asked again; earlier answers are ignored")
  func askedAnew() throws {
    var machine = LocalAuthStateMachine()
    _ = try machine.flowChanged(flow(1, step))
    let problem = Problem(reason: "scan_again", title: "t", message: "once more")
    guard case .ask(let anew, ticket: 2) = try machine.flowChanged(flow(2, step, problem: problem))
    else {
      Issue.record("nothing was asked")
      return
    }
    #expect(anew.problem == "once more")
    let late = machine.answered(.cancel, ticket: 1)
    let stays = machine.answered(.stay, ticket: 2)
    #expect(late == .nothing && stays == .nothing)
  }

  @Test("a local authentication question ends at a wait step, and a later answer is ignored")
  func over() throws {
    var machine = LocalAuthStateMachine()
    _ = try machine.flowChanged(flow(1, step))
    let over = try machine.flowChanged(flow(2, .wait(.init(for: "a look"))))
    let late = machine.answered(.cancel, ticket: 1)
    #expect(over == .over && late == .nothing)
  }

  @Test("a local authentication answer without effect is asked again, unless the flow moved on")
  func flowUnchanged() throws {
    var machine = LocalAuthStateMachine()
    _ = try machine.flowChanged(flow(1, step))
    _ = machine.answered(.fallback, ticket: 1)
    let other = machine.flowUnchanged(7, "p")
    #expect(other == .nothing)
    guard case .ask(let again, ticket: 2) = machine.flowUnchanged(1, "p") else {
      Issue.record("nothing was asked")
      return
    }
    #expect(again.problem == "p")
  }
}
