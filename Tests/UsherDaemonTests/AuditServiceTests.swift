import Logging
import Testing
import UsherAPI
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("audit.list and audit.verify", .timeLimit(.minutes(10)))
struct AuditServiceTests {
  private let place: TemporaryDirectory
  private let clock = FakeClock()
  private let store: Store
  private let repository: AuditRecorder
  private var service: AuditService

  init() throws {
    place = try TemporaryDirectory()
    store = try place.store(clock)
    repository = AuditRecorder(
      dependencies: .fake(clock, FakeScheduler(clock)))
    repository.open(store.audit)
    service = AuditService(log: store.audit, repository: repository)
  }

  /// Records six calls, one minute apart; the clock ends at the time of the last call.
  private func sixCalls() {
    for (event, caller) in [
      (AuditEvent.token(), AuditedCaller.till), (.denied("flow.list"), .bert),
      (.token(account: "acc_2"), .till), (.token(failure: .locked), .till),
      (.denied("token.get"), .till), (.token(method: "totp.code"), .bert),
    ] {
      clock.advance(by: .seconds(60))
      repository.record(event, by: caller)
    }
  }

  private func numbers(_ call: AuditList) async throws -> [Int] {
    try await service.list(call).rows.map(\.n)
  }

  @Test("audit.list returns the rows recorded just before, with their numbers and times")
  func fresh() async throws {
    #expect(try await service.list(.init()) == .init(rows: []))
    sixCalls()
    let reply = try await service.list(.init())
    #expect(reply.rows.map(\.n) == [1, 2, 3, 4, 5, 6])
    #expect(reply.rows.last?.at == clock.now())
    #expect(reply.rows.map(\.outcome)[2...4] == ["ok", "locked", "permission_denied"])
    #expect(reply.next == nil)
    #expect(reply.unreadable == nil)
  }

  @Test("each filter of audit.list leaves out the rows that do not match")
  func filters() async throws {
    sixCalls()
    let now = clock.now()
    #expect(try await numbers(.init(client: "till")) == [1, 3, 4, 5])
    #expect(try await numbers(.init(uid: 1001)) == [2, 6])
    #expect(try await numbers(.init(account: AccountID("acc_2"))) == [3])
    #expect(try await numbers(.init(method: "token.get")) == [1, 3, 4, 5])
    #expect(try await numbers(.init(provider: .work)) == [1, 2, 3, 4, 5, 6])
    #expect(try await numbers(.init(provider: ProviderName("other"))) == [])
    #expect(try await numbers(.init(denied: true)) == [2, 5])
    #expect(try await numbers(.init(denied: false)) == [1, 3, 4, 6])
    #expect(try await numbers(.init(since: now)) == [6])
    #expect(try await numbers(.init(since: now - .seconds(60))) == [5, 6])
    #expect(try await numbers(.init(until: now - .seconds(240))) == [1, 2])
    #expect(
      try await numbers(.init(since: now - .seconds(180), until: now - .seconds(120))) == [3, 4])
    #expect(try await numbers(.init(since: now, until: now - .seconds(1))) == [])
    #expect(try await numbers(.init(client: "till", denied: true)) == [5])
  }

  @Test("audit.list returns pages, and each page continues after the last one")
  func pages() async throws {
    sixCalls()
    var found: [[Int]] = []
    var call = AuditList(client: "till", limit: 2)
    repeat {
      let reply = try await service.list(call)
      found.append(reply.rows.map(\.n))
      call.after = reply.next
    } while call.after != nil && found.count < 9
    #expect(found == [[1, 3], [4, 5], []])
    #expect(try await service.list(.init(limit: 6)).next == nil)
    #expect(try await numbers(.init(after: 6)) == [])
    #expect(try await numbers(.init(after: -1)).count == 6)
    #expect(try await numbers(.init(after: .max)) == [])
  }

  @Test("audit.list reads a limited number of rows per call, and the next call continues there")
  mutating func bounded() async throws {
    sixCalls()
    await repository.flush()
    for n in 0..<1200 {
      try await store.audit.append([
        AuditEntry(.init(at: clock.now(), event: .denied("x\(n)"), caller: .bert))
      ])
    }
    service.maxScanned = 600
    var call = AuditList(client: "till", denied: false)
    var replies: [AuditList.Reply] = []
    repeat {
      replies.append(try await service.list(call))
      call.after = replies.last?.next
    } while call.after != nil && replies.count < 9
    #expect(replies.count == 2)
    #expect(replies[0].rows.map(\.n) == [1, 3, 4])
    #expect(replies[1].rows == [])
    #expect((600..<1206).contains(try #require(replies[0].next)))
  }

  @Test("audit.list refuses a limit outside 1 to 1000", arguments: [0, -1, 1001])
  func limits(_ limit: Int) async throws {
    let error = await #expect(throws: UsherError.self) {
      try await service.list(.init(limit: limit))
    }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "limit")
  }

  @Test("audit.verify reports an intact audit log while rows are recorded concurrently")
  func verify() async throws {
    let begunAt = clock.now()
    #expect(try await service.verify() == .init(whole: true, begunAt: begunAt, findings: []))
    sixCalls()
    #expect(
      try await service.verify()
        == .init(whole: true, first: 1, last: 6, begunAt: begunAt, findings: []))
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<4 { group.addTask { try await service.verify().whole } }
      for _ in 0..<200 { repository.record(.denied("flow.list"), by: .bert) }
      for try await isWhole in group { #expect(isWhole) }
    }
  }
}
