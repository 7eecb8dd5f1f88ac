import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite(
  "Lookup of the accounts that a provider's callback may mean", .mayBlock, .timeLimit(.minutes(10)))
struct CallbackFindingTests {
  private let calls: VerdictHarness
  private var harness: FlowHarness { calls.harness }

  init() async throws { calls = try await VerdictHarness() }

  private struct Found: Equatable {
    var ids: [AccountID] = []
    var skipped = 0
  }

  /// Looks accounts up in a new repository, which has none of them in memory.
  private func found(_ key: String) async throws -> Found {
    let repository = AccountRepository(
      dependencies: harness.dependencies, events: harness.events, store: harness.store)
    var found = Found()
    try await repository.forEach(calledBy: key, at: VerdictHarness.provider) {
      found.ids.append($0.id)
    } skipped: { _ in
      found.skipped += 1
    }
    return found
  }

  /// Sets the providers that are configured when accounts are stored.
  private func configure(_ providers: [ProviderConfig]) {
    var config = harness.dependencies.config
    config.providers = providers
    harness.dependencies.configStore.replace(
      by: config, harness.dependencies.configStore.current.policy)
  }

  @Test(
    "a provider callback finds accounts by its request id and opens no other row, even a damaged one"
  )
  func others() async throws {
    let first = try await calls.submit("req-1", subject: "corr-1")
    let second = try await calls.submit("req-2", subject: "corr-2")
    #expect(try await found("req-2") == Found(ids: [second.id]))
    try execute(
      "UPDATE accounts SET sealed = zeroblob(64) WHERE id = '\(first.id)'",
      at: harness.store.status.path)
    #expect(try await found("req-2") == Found(ids: [second.id]))
    #expect(try await found("req-1") == Found(skipped: 1))
    #expect(try await found("req-3") == Found())
    #expect(try await calls.call("linking-token", requestID: "req-2") == .accepted)
    #expect(calls.kyc(second)?["status"] == "COMPLETED")
  }

  @Test("a provider callback finds all 70 accounts with its request id, across owners, each once")
  func pages() async throws {
    // The test creates more accounts than the fake entropy has distinct ids for.
    let dependencies = Dependencies(
      configStore: harness.dependencies.configStore, clock: harness.clock, entropy: SystemEntropy(),
      scheduler: harness.scheduler, processors: 2, log: .silent)
    let repository = AccountRepository(
      dependencies: dependencies, events: harness.events, store: harness.store)
    var ids: Set<AccountID> = []
    for number in 0..<70 {
      let owner = Owner(realm: "host", uid: 2000 + UInt32(number))
      let record = try await calls.submit(
        "req-1", subject: "corr-\(number)", owner: owner, in: repository)
      ids.insert(record.id)
    }
    let found = try await found("req-1")
    #expect(found.ids.count == 70 && Set(found.ids) == ids && found.skipped == 0)
  }

  @Test("a provider callback finds an account only by the request id of its last submission")
  func changed() async throws {
    let record = try await calls.submit("req-1")
    let again = try await calls.submit("req-2", submission: "sub-2")
    #expect(again.id == record.id)
    #expect(try await found("req-1") == Found())
    #expect(try await found("req-2") == Found(ids: [record.id]))
  }

  @Test("an account without a known call tag is found by any request id until its tag is known")
  func unknown() async throws {
    configure([])
    let record = try await calls.submit("req-1")
    #expect(record.callTag == AccountRow.unknownCallTag)
    #expect(try await found("req-9") == Found(ids: [record.id]))
    #expect(try await calls.call("linking-token", requestID: "req-9") == .unauthorized)
    configure([calls.provider])
    #expect(try await calls.call("linking-token") == .accepted)
    #expect(calls.kyc(record)?["status"] == "COMPLETED")
    #expect(try await found("req-9") == Found())
    #expect(try await found("req-1") == Found(ids: [record.id]))
  }

  @Test("an account without a submission has no call tag and is not found by an empty request id")
  func nothing() async throws {
    let record = try await harness.repository.persist(at: VerdictHarness.provider)
    #expect(record.callTag == nil)
    #expect(try await found("") == Found())
  }
}
