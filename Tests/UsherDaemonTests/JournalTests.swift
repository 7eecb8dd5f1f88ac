import Logging
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// What `journalctl USHER_FLOW=…` tells of a flow (Service, "In the journal").
@Suite("A flow's story in the journal")
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

  /// What each line about a flow says.
  private func told(_ key: String) -> [String?] { log.ofFlows.map { $0.metadata[key] } }

  @Test("one entry a transition, from its beginning to its end, in order")
  func story() async throws {
    let session = try await harness.open(client: "till")
    _ = await harness.type("call", session)
    _ = await harness.type("poll", session)
    harness.answer(session)
    try await reached("the answer") { session.flow.state == "answered effect" }
    _ = await harness.type("done", session)
    #expect(told("messageID") == [Self.begins, Self.moves, Self.moves, Self.ends])
    #expect(told("state") == ["asking", "calling", "answered effect", "done"])
    #expect(told("status") == ["active", "active", "active", "succeeded"])
    #expect(log.ofFlows.allSatisfy { $0.level == .info })
    for (key, value) in [("flow", "flw_1"), ("provider", "work"), ("client", "till")] {
      #expect(told(key) == Array(repeating: value, count: 4), "\(key)")
    }
  }

  @Test("a transition has its call's correlation id, one that nobody called for has none")
  func causes() async throws {
    let session = try await harness.open()
    let cause = CorrelationID("cor_1")
    await Cause.$correlation.withValue(cause) {
      #expect(await harness.type("call", session) == nil)
      // As from the task of an effect, which knows the call that it was begun by.
      harness.answer(session)
    }
    try await reached("the answer") { session.flow.state == "answered effect" }
    #expect(told("correlationId") == [nil, "cor_1", nil])
  }

  @Test("how it failed is told by our words, and by whom it was ended")
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

  @Test("a client that no rule names is told by its user")
  func unnamed() async throws {
    _ = try await harness.open(id: "flw_1", client: CallerPolicy.ownPrograms)
    _ = try await harness.open(id: "flw_2", client: nil)
    #expect(told("client") == ["uid 1000", "uid 1000"])
  }
}
