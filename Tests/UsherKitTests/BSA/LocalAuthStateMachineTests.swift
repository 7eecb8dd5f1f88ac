import Testing
import UsherAPI
import UsherCore

@testable import UsherKit

@Suite("Which question of a local authentication is asked")
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

  @Test("what is told again is asked once; the answer is to what was told last")
  func toldAgain() throws {
    var course = LocalAuthStateMachine()
    #expect(!course.hasAsked)
    let asks = try course.moved(flow(1, step))
    #expect(asks == .ask(question, ticket: 1))
    let again = try course.moved(flow(2, step))
    #expect(again == .nothing && course.hasAsked)
    let answered = course.answered(.cancel, ticket: 1)
    #expect(answered == .submit(.cancelLocalAuth, answering: flow(2, step)))
    let twice = course.answered(.fallback, ticket: 1)
    #expect(twice == .nothing)
  }

  @Test("a problem is asked anew, and an answer to the question before does not count")
  func askedAnew() throws {
    var course = LocalAuthStateMachine()
    _ = try course.moved(flow(1, step))
    let problem = Problem(reason: "scan_again", title: "t", message: "once more")
    guard case .ask(let anew, ticket: 2) = try course.moved(flow(2, step, problem: problem)) else {
      Issue.record("nothing was asked")
      return
    }
    #expect(anew.problem == "once more")
    let late = course.answered(.cancel, ticket: 1)
    let stays = course.answered(.stay, ticket: 2)
    #expect(late == .nothing && stays == .nothing)
  }

  @Test("a question is over while something is looked at, and an answer to it too late")
  func over() throws {
    var course = LocalAuthStateMachine()
    _ = try course.moved(flow(1, step))
    let over = try course.moved(flow(2, .wait(.init(for: "a look"))))
    let late = course.answered(.cancel, ticket: 1)
    #expect(over == .over && late == .nothing)
  }

  @Test("an answer that did not lead on is asked for again, unless the flow has moved on since")
  func unmoved() throws {
    var course = LocalAuthStateMachine()
    _ = try course.moved(flow(1, step))
    _ = course.answered(.fallback, ticket: 1)
    let other = course.unmoved(7, "p")
    #expect(other == .nothing)
    guard case .ask(let again, ticket: 2) = course.unmoved(1, "p") else {
      Issue.record("nothing was asked")
      return
    }
    #expect(again.problem == "p")
  }
}
