import GRDB
import Testing
import UsherCore

@testable import UsherStore

@Suite("Commits to the store")
struct StoreCommitTests {
  let fixture: StoreFixture

  init() throws { fixture = try StoreFixture() }

  @Test("a reused requestId is refused with the flow it started, and nothing is stored")
  func requestReused() async throws {
    let store = try fixture.open()
    try await store.commit([.putFlow(.sample()), .rememberRequest(.sample())])
    let error = await #expect(throws: UsherError.self) {
      try await store.commit([.putFlow(.sample("flw_2")), .rememberRequest(.sample("flw_2"))])
    }
    #expect(error?.reason == .requestIDReused)
    #expect(error?.detail.flow == FlowID("flw_1"))
    #expect(error?.cause as? Conflict == .request(FlowID("flw_1")))
    #expect(try store.loadFlows() == [.sample()])
    #expect(try store.loadRequests() == [.sample()])
  }

  @Test("the same requestId may be used by another owner or at another provider")
  func requestOfOthers() async throws {
    let store = try fixture.open()
    var elsewhere = RequestRow.sample("flw_3")
    elsewhere.provider = ProviderName("other")
    try await store.commit([
      .rememberRequest(.sample()), .rememberRequest(.sample("flw_2", owner: .till)),
      .rememberRequest(elsewhere),
    ])
    #expect(try store.loadRequests().count == 3)
  }

  @Test("the store knows whether a requestId was used at a provider, until it is forgotten")
  func remembered() async throws {
    let store = try fixture.open()
    let row = RequestRow.sample()
    try await store.commit([.rememberRequest(.sample(owner: .till))])
    #expect(try store.isRemembered(row.requestID, at: row.provider))
    #expect(try !store.isRemembered(row.requestID, at: ProviderName("other")))
    #expect(try !store.isRemembered("req-2", at: row.provider))
    try await store.commit([.forgetRequests(expiredBy: row.expiresAt)])
    #expect(try !store.isRemembered(row.requestID, at: row.provider))
  }

  @Test("an expired requestId may be used again, and can be forgotten")
  func requestExpiry() async throws {
    try await fixture.create([.rememberRequest(.sample())])
    let expiry = RequestRow.sample().expiresAt
    let before = try fixture.open(at: expiry - .milliseconds(1))
    await #expect(throws: UsherError.self) {
      try await before.commit([.rememberRequest(.sample("flw_2"))])
    }
    try await before.commit([.forgetRequests(expiredBy: expiry - .milliseconds(1))])
    #expect(try before.loadRequests().count == 1)
    try before.close()
    let after = try fixture.open(at: expiry)
    var renewed = RequestRow.sample("flw_2")
    renewed.expiresAt = expiry + .seconds(1)
    try await after.commit([.rememberRequest(renewed)])
    #expect(try after.loadRequests() == [renewed])
    try await after.commit([.forgetRequests(expiredBy: renewed.expiresAt)])
    #expect(try after.loadRequests().isEmpty)
  }

  @Test("a second account for the same subject, owner and provider is a conflict")
  func accountConflict() async throws {
    let store = try fixture.open()
    try await store.commit([
      .putAccount(.sample()), .putAccount(.sample("acc_2", owner: .till)),
    ])
    let error = await #expect(throws: UsherError.self) {
      try await store.commit([.putAccount(.sample("acc_3"))])
    }
    #expect(error?.reason == .conflict)
    #expect(error?.cause as? Conflict == .account(AccountID("acc_1")))
    #expect(try store.loadAccounts().count == 2)
  }

  @Test("a row whose parent row is missing is refused as not found, with its whole commit")
  func orphans() async throws {
    let store = try fixture.open()
    for orphan: Change in [.appendJournal(.sample("flw_none")), .putToken(.sample("acc_none"))] {
      let error = await #expect(throws: UsherError.self) {
        try await store.commit([.putFlow(.sample()), orphan])
      }
      #expect(error?.reason == .notFound)
    }
    #expect(try store.loadFlows().isEmpty)
  }

  @Test("a failing commit does not affect the other commits of its transaction")
  func neighbours() async throws {
    let store = try fixture.open()
    let outcomes = GroupCommit.write(
      [
        [insert("a")], [insert("b"), insert("a")], [insert("c")],
        [insert("d"), { _ in throw Conflict.request(FlowID("flw_1")).error }], [insert("e")],
      ], to: store.database)
    #expect(outcomes.map(\.succeeded) == [true, false, true, false, true])
    #expect(try names(in: store) == ["a", "c", "e"])
  }

  @Test(
    "if the transaction of a group commit fails, all its commits fail, whatever their own results")
  func failingTransaction() async throws {
    let store = try fixture.open()
    let orphan: GroupCommit.Operation = { db in
      try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
      try db.execute(
        sql: "INSERT INTO journal (flow, revision, state, status, at) VALUES ('x', 1, '', '', 0)")
    }
    let outcomes = GroupCommit.write(
      [
        [insert("a")], [{ _ in throw Conflict.request(FlowID("flw_1")).error }], [orphan],
      ], to: store.database)
    #expect(outcomes.map(\.succeeded) == [false, false, false])
    #expect(outcomes.allSatisfy { $0.reason == .notFound })
    #expect(try names(in: store).isEmpty)
  }

  @Test("after reopening the store has exactly the acknowledged commits of fifty writers")
  func concurrentWriters() async throws {
    let store = try fixture.open()
    let acknowledged = await withTaskGroup(of: [String].self) { group in
      for writer in 0..<50 {
        group.addTask {
          var done: [String] = []
          for turn in 0..<10 {
            let id = "flw_\(writer)_\(turn)"
            // All writers of one turn use the same requestId, so exactly one of them succeeds.
            var request = RequestRow.sample(id)
            request.requestID = "turn-\(turn)"
            let changes: [Change] = [
              .putFlow(.sample(id)), .appendJournal(.sample(id)), .rememberRequest(request),
            ]
            let isRacing = writer % 5 == 0
            do throws(UsherError) {
              try await store.commit(isRacing ? changes : Array(changes.prefix(2)))
              done.append(id)
            } catch {
              #expect(isRacing && error.reason == .requestIDReused)
            }
          }
          return done
        }
      }
      return await group.reduce(into: Set<String>()) { $0.formUnion($1) }
    }
    try store.close()
    #expect(acknowledged.count == 40 * 10 + 10)
    let reopened = try fixture.open()
    #expect(Set(try reopened.loadFlows().map(\.id.rawValue)) == acknowledged)
    #expect(Set(try reopened.loadJournal().map(\.flow.rawValue)) == acknowledged)
    #expect(try reopened.loadRequests().count == 10)
  }

  @Test("a closed store refuses commits and reads, and closing twice does nothing")
  func closed() async throws {
    let store = try fixture.open()
    try store.close()
    try store.close()
    let error = await #expect(throws: UsherError.self) { try await store.commit([]) }
    #expect(error?.message == "the store is closed")
    #expect(throws: UsherError.self) { try store.loadFlows() }
    let reading = #expect(throws: UsherError.self) {
      try store.accounts(.id(AccountID("acc_1"), of: nil), atMost: 1)
    }
    #expect(reading?.message == "the store is closed")
    let late = GroupCommit.write([[insert("a")]], to: store.database)
    #expect(late.map(\.reason) == [.storageUnavailable])
  }

  private func insert(_ name: String) -> GroupCommit.Operation {
    { try $0.execute(sql: "INSERT INTO credentials VALUES (?, x'')", arguments: [name]) }
  }

  private func names(in store: Store) throws -> [String] {
    try store.database.read { try String.fetchAll($0, sql: "SELECT name FROM credentials") }
  }
}

extension GroupCommit.Outcome {
  fileprivate var succeeded: Bool { reason == nil }

  fileprivate var reason: UsherError.Reason? {
    switch self {
    case .success: nil
    case .failure(let error): error.reason
    }
  }
}
