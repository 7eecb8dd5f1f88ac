import FoundationEssentials
import Testing
import UsherAPI
import UsherCore

@testable import UsherKit

@Suite("State machine of the Freedom ID screens")
struct FreedomIDStateMachineTests {
  private func flow(_ standing: FreedomIDStanding, _ revision: Int) throws -> Flow {
    try JSONDecoder().decode(Flow.self, from: Data(standing.flow("flw_1", revision).utf8))
  }

  private let choice = FreedomIDAnswer(.choice("acc_1"))

  /// Returns the ticket of the screen to show.
  private func ticket(_ order: ScreenStateMachine.Action) throws -> Int {
    guard case .show(_, _, let ticket) = order else {
      Issue.record("\(order)")
      return -1
    }
    return ticket
  }

  @Test("a repeated Freedom ID step is shown once and answered at its latest revision")
  func sameStep() throws {
    var course = ScreenStateMachine()
    let ticket = try ticket(course.moved(try flow(.home, 3)))
    #expect(course.moved(try flow(.home, 3)) == .nothing)
    #expect(course.moved(try flow(.home, 5)) == .nothing)
    #expect(
      course.answered(choice, ticket: ticket)
        == .submit(.choice("acc_1"), answering: try flow(.home, 5)))
  }

  @Test("a Freedom ID step with another problem, or after an answer, is shown again")
  func askedAgain() throws {
    var course = ScreenStateMachine()
    let first = try ticket(course.moved(try flow(.home, 1)))
    let second = try ticket(course.moved(try flow(.home.with(problem: "denied"), 2)))
    #expect(second != first)
    _ = course.answered(choice, ticket: second)
    let third = try ticket(course.moved(try flow(.home.with(problem: "denied"), 4)))
    #expect(third != second)
  }

  @Test("only the first answer to the current Freedom ID screen is submitted")
  func stale() throws {
    var course = ScreenStateMachine()
    #expect(course.answered(choice, ticket: 1) == .nothing)
    let home = try ticket(course.moved(try flow(.home, 1)))
    let passcode = try ticket(course.moved(try flow(.passcode, 2)))
    #expect(course.answered(choice, ticket: home) == .nothing)
    #expect(course.answered(.cancel, ticket: home) == .nothing)
    #expect(course.answered(.stay, ticket: passcode) == .nothing)
    let answer = FreedomIDAnswer(.passcode(Secret("2468")))
    #expect(course.answered(answer, ticket: passcode) != .nothing)
    #expect(course.answered(answer, ticket: passcode) == .nothing)
    #expect(course.answered(.cancel, ticket: passcode) == .nothing)
  }

  @Test("a Freedom ID answer that did not advance the flow shows its screen again with the problem")
  func unmoved() throws {
    var course = ScreenStateMachine()
    let first = try ticket(course.moved(try flow(.password, 4)))
    #expect(course.unmoved(4, .lost) == .nothing)
    _ = course.answered(FreedomIDAnswer(.password(Secret("p"))), ticket: first)
    #expect(course.unmoved(3, .lost) == .nothing)
    guard case .show(let screen, let problem, let second) = course.unmoved(4, .lost) else {
      Issue.record("nothing is shown")
      return
    }
    #expect(screen == .password(.init()) && problem == .lost && second != first)
    #expect(course.unmoved(4, .lost) == .nothing)
  }

  @Test("cancelling a Freedom ID screen gives up, and a finished flow ends the screens")
  func ends() throws {
    var course = ScreenStateMachine()
    let ticket = try ticket(course.moved(try flow(.permissions, 1)))
    #expect(course.answered(.cancel, ticket: ticket) == .giveUp)
    let end = try flow(.authorized, 2)
    #expect(course.moved(end) == .end(end))
  }

  @Test("a Freedom ID flow without a step shows the waiting screen")
  func noStep() throws {
    var course = ScreenStateMachine()
    let order = course.moved(try flow(.asking("completion", "null"), 1))
    #expect(order == .show(.waiting(.init(reason: "usherd")), nil, ticket: 1))
  }
}
