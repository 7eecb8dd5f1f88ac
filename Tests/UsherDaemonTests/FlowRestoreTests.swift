import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Restoring of flows at a start", .mayBlock, .timeLimit(.minutes(10)))
struct FlowRestoreTests {
  private let harness: LockControllerHarness
  private let lockController: LockController

  init() async throws {
    harness = try LockControllerHarness(holdsTimers: true)
    lockController = try await harness.begun()
  }

  /// A finished flow with two transitions.
  private func flow(_ number: Int, payload: SealedPayload? = nil) throws -> [Change] {
    let id = FlowID("flw_\(number)")
    let now = harness.clock.now()
    let stored = StoredFlow(
      type: .oidc, state: "ended \(number)", ending: FlowEnding(status: .succeeded))
    let row = FlowRow(
      id: id, owner: .anna, provider: .work, kind: "device", status: "succeeded", revision: 2,
      state: "ended \(number)", createdAt: now, updatedAt: now, expiresAt: now + .seconds(600),
      payload: try payload ?? stored.payload(with: nil))
    let journal = ["begun", "ended"].enumerated().map { index, word in
      JournalRow(
        flow: id, revision: index + 1, state: "\(word) \(number)", status: "active",
        stepType: nil, at: now)
    }
    return [.putFlow(row)] + journal.map { .appendJournal($0) }
  }

  private func write(_ changes: [Change]) async throws {
    try await lockController.services().store.commit(changes)
  }

  private func restart() async throws -> FlowEngine {
    try await lockController.lock()
    try await lockController.unlock()
    return try lockController.services().flows.engine
  }

  @Test("a start of the daemon restores all 2500 flows, each with its own transitions")
  func many() async throws {
    let count = 2500
    try await write(try (0..<count).flatMap { try flow($0) })
    let engine = try await restart()
    #expect(engine.index.all.count == count)
    #expect(try engine.store.loadFlows().count == count)
    for number in 0..<count {
      let session = try engine.flow(FlowID("flw_\(number)"), of: .anna)
      #expect(session.flow.state == "ended \(number)" && session.isFinished)
      #expect(
        session.transitions(since: 0).map(\.state) == ["begun \(number)", "ended \(number)"])
    }
    let another = FlowID("flw_0")
    #expect(throws: UsherError.self) { try engine.flow(another, of: .bert) }
  }

  @Test("a start of the daemon skips a flow with an unreadable payload, and restores the others")
  func senseless() async throws {
    let payload = SealedPayload(Array("no flow".utf8))
    try await write(
      try (0..<20).flatMap { try flow($0, payload: $0 % 7 == 3 ? payload : nil) })
    let engine = try await restart()
    let all = Set(engine.index.all.map(\.id.rawValue))
    #expect(all == Set((0..<20).filter { $0 % 7 != 3 }.map { "flw_\($0)" }))
    let second = FlowEngine(
      credentials: engine.credentials, accounts: engine.accounts, effects: engine.effects,
      revocations: engine.revocations)
    let unread = try await second.restore()
    #expect(Set(unread.map { $0.flow.rawValue }) == ["flw_3", "flw_10", "flw_17"])
    #expect(try engine.store.loadFlows().count == 20)
  }

  @Test("a flow row that cannot be decrypted ends the unlock with an error that names the row")
  func damaged() async throws {
    try await write(try (0..<20).flatMap { try flow($0) })
    try await lockController.lock()
    try execute(
      "UPDATE flows SET sealed = zeroblob(64) WHERE id = 'flw_13'", at: harness.databasePath)
    let error = await #expect(throws: UsherError.self) { try await lockController.unlock() }
    #expect(error?.reason == .storageUnavailable)
    #expect(error?.message.contains("flows/flw_13") == true)
  }
}
