import FoundationEssentials
import Testing
import UsherAPI
import UsherCore

@testable import UsherKit

@Suite("State machine of the Freedom ID screens")
struct FreedomIDStateMachineTests {
  private func flow(_ snapshot: FreedomIDFlowSnapshot, _ revision: Int) throws -> Flow {
    try JSONDecoder().decode(Flow.self, from: Data(snapshot.flow("flw_1", revision).utf8))
  }

  private let choice = FreedomIDAnswer(.choice("acc_1"))

  /// Returns the ticket of the screen to show.
  private func ticket(_ action: ScreenStateMachine.Action) throws -> Int {
    guard case .show(_, _, let ticket) = action else {
      Issue.record("\(action)")
      return -1
    }
    return ticket
  }

  @Test("a repeated Freedom ID step is shown once and answered at its latest revision")
  func sameStep() throws {
    var machine = ScreenStateMachine()
    let ticket = try ticket(machine.flowChanged(try flow(.home, 3)))
    #expect(machine.flowChanged(try flow(.home, 3)) == .nothing)
    #expect(machine.flowChanged(try flow(.home, 5)) == .nothing)
    #expect(
      machine.answered(choice, ticket: ticket)
        == .submit(.choice("acc_1"), answering: try flow(.home, 5)))
  }

  @Test("a Freedom ID step with another problem, or after an answer, is shown again")
  func askedAgain() throws {
    var machine = ScreenStateMachine()
    let first = try ticket(machine.flowChanged(try flow(.home, 1)))
    let second = try ticket(machine.flowChanged(try flow(.home.with(problem: "denied"), 2)))
    #expect(second != first)
    _ = machine.answered(choice, ticket: second)
    let third = try ticket(machine.flowChanged(try flow(.home.with(problem: "denied"), 4)))
    #expect(third != second)
  }

  @Test("only the first answer to the current Freedom ID screen is submitted")
  func stale() throws {
    var machine = ScreenStateMachine()
    #expect(machine.answered(choice, ticket: 1) == .nothing)
    let home = try ticket(machine.flowChanged(try flow(.home, 1)))
    let passcode = try ticket(machine.flowChanged(try flow(.passcode, 2)))
    #expect(machine.answered(choice, ticket: home) == .nothing)
    #expect(machine.answered(.cancel, ticket: home) == .nothing)
    #expect(machine.answered(.stay, ticket: passcode) == .nothing)
    let answer = FreedomIDAnswer(.passcode(Secret("2468")))
    #expect(machine.answered(answer, ticket: passcode) != .nothing)
    #expect(machine.answered(answer, ticket: passcode) == .nothing)
    #expect(machine.answered(.cancel, ticket: passcode) == .nothing)
  }

  @Test("a Freedom ID answer that did not advance the flow shows its screen again with the problem")
  func flowUnchanged() throws {
    var machine = ScreenStateMachine()
    let first = try ticket(machine.flowChanged(try flow(.password, 4)))
    #expect(machine.flowUnchanged(4, .lost) == .nothing)
    _ = machine.answered(FreedomIDAnswer(.password(Secret("p"))), ticket: first)
    #expect(machine.flowUnchanged(3, .lost) == .nothing)
    guard case .show(let screen, let problem, let second) = machine.flowUnchanged(4, .lost) else {
      Issue.record("nothing is shown")
      return
    }
    #expect(screen == .password(.init()) && problem == .lost && second != first)
    #expect(machine.flowUnchanged(4, .lost) == .nothing)
  }

  @Test("cancelling a Freedom ID screen gives up, and a finished flow ends the screens")
  func ends() throws {
    var machine = ScreenStateMachine()
    let ticket = try ticket(machine.flowChanged(try flow(.permissions, 1)))
    #expect(machine.answered(.cancel, ticket: ticket) == .giveUp)
    let end = try flow(.authorized, 2)
    #expect(machine.flowChanged(end) == .end(end))
  }

  @Test("a Freedom ID flow without a step shows the waiting screen")
  func noStep() throws {
    var machine = ScreenStateMachine()
    let action = machine.flowChanged(try flow(.asking("completion", "null"), 1))
    #expect(action == .show(.waiting(.init(reason: "usherd")), nil, ticket: 1))
  }
}
