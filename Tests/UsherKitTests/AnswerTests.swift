import JSONRPC
import Testing
import UsherAPI
import UsherClient
import UsherCore

@testable import UsherKit

@Suite("Answers to a flow step on a lost connection", .timeLimit(.minutes(10)))
struct AnswerTests {
  private let snapshot = PaysafeFlow.snapshot(
    "sca", 2, "challenged", step: PaysafeFlow.enterCode())
  private let lost = Turn.hangUp(
    "flow.submit", PaysafeFlow.answer(["type": "enterCode", "code": "1"], at: 2))

  private func answer(_ turns: [Turn]) async throws -> Flow {
    let opening = Turn.ask("flow.get", PaysafeFlow.flow(), snapshot)
    return try await playing([opening] + turns) { path in
      let session = try await UsherClient(socketPath: path).session(of: FlowID("flw_1"))
      return try await session.answer(.code(Secret("1"), fields: [:]), to: session.flow)
    }
  }

  @Test(
    "an answer to a flow step that reached the daemon before the connection was lost is not resent")
  func arrived() async throws {
    let flow = try await answer([
      lost,
      .ask("flow.get", PaysafeFlow.flow(), PaysafeFlow.snapshot("sca", 3, "attempting")),
      .ask(
        "flow.wait", PaysafeFlow.change(after: 3),
        PaysafeFlow.waited(PaysafeFlow.succeeded("sca", 4, result: "{}"))),
    ])
    #expect(flow.status == .succeeded)
  }

  @Test("after a lost answer to a flow step, the flow is read repeatedly while the daemon restarts")
  func restart() async throws {
    let flow = try await answer([
      lost, .hangUp("flow.get", PaysafeFlow.flow()), .hangUp("flow.get", PaysafeFlow.flow()),
      .ask("flow.get", PaysafeFlow.flow(), PaysafeFlow.succeeded("sca", 4, result: "{}")),
    ])
    #expect(flow.status == .succeeded)
  }

  @Test(
    "a lost answer is not resent and throws an error if the flow still asks for the answer",
    arguments: [2, 4])
  func notArrived(revision: Int) async throws {
    let same = PaysafeFlow.snapshot("sca", revision, "challenged", step: PaysafeFlow.enterCode())
    let failure = await #expect(throws: ConnectionError.self) {
      try await answer([lost, .ask("flow.get", PaysafeFlow.flow(), same)])
    }
    #expect(failure?.kind == .lost)
  }
}
