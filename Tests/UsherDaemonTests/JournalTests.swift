import Logging
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// The entries of `journalctl USHER_FLOW=…` about a flow (Service, "In the journal").
@Suite("Flows in the system journal", .timeLimit(.minutes(10)))
struct JournalTests {
  private static let (begins, moves, ends) = (
    "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c21", "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c22",
    "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c23"
  )

  private let log = LoggedLines()
  private let harness: FlowHarness

  init() throws {
    harness = try FlowHarness(log: Logger(label: "test") { [log] _ in log })
  }

  /// Returns one field of each line about a flow.
  private func told(_ key: String) -> [String?] { log.ofFlows.map { $0.metadata[key] } }

  @Test("each transition of a flow is one journal entry, in order, from start to end")
  func story() async throws {
    let session = try await harness.open(client: "till")
    _ = await harness.type("call", session)
    _ = await harness.type("poll", session)
    harness.answer(session)
    try await reached("the flow has its answer") { session.flow.state == "answered effect" }
    _ = await harness.type("done", session)
    #expect(told("messageID") == [Self.begins, Self.moves, Self.moves, Self.ends])
    #expect(told("state") == ["asking", "calling", "answered effect", "done"])
    #expect(told("status") == ["active", "active", "active", "succeeded"])
    #expect(log.ofFlows.allSatisfy { $0.level == .info })
    for (key, value) in [("flow", "flw_1"), ("provider", "work"), ("client", "till")] {
      #expect(told(key) == Array(repeating: value, count: 4), "\(key)")
    }
  }

  @Test("a transition caused by a call has the call's correlation id, and others have none")
  func causes() async throws {
    let session = try await harness.open()
    let cause = CorrelationID("cor_1")
    await Cause.$correlation.withValue(cause) {
      #expect(await harness.type("call", session) == nil)
      // The outcome is delivered with the call's task-local values, as from the task of an effect.
      harness.answer(session)
    }
    // A transition is logged after the flow's state is set.
    try await reached("the answer is logged") { log.ofFlows.count >= 3 }
    #expect(told("correlationId") == [nil, "cor_1", nil])
  }

  @Test("the end of a failed or cancelled flow is logged with the reason and the canceller's id")
  func failing() async throws {
    let session = try await harness.open()
    _ = await harness.type("fail", session)
    #expect(told("reason") == [nil, "provider_rejected"])
    let cancelled = try await harness.open(id: "flw_2")
    _ = await Cause.$correlation.withValue(CorrelationID("cor_2")) {
      await harness.cancel(cancelled)
    }
    #expect(told("reason").last == "cancelled")
    #expect(told("correlationId").last == "cor_2")
    #expect(told("messageID").last == Self.ends)
  }

  @Test("a client without a rule name is logged by its uid")
  func unnamed() async throws {
    _ = try await harness.open(id: "flw_1", client: CallerPolicy.ownPrograms)
    _ = try await harness.open(id: "flw_2", client: nil)
    #expect(told("client") == ["uid 1000", "uid 1000"])
  }
}
