import Logging
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Audit recorder", .timeLimit(.minutes(10)))
struct AuditRecorderTests {
  private let clock = FakeClock()
  private let scheduler: FakeScheduler
  private let destination = FakeAuditDestination()
  private let repository: AuditRecorder
  private let lines = LoggedLines()

  init() {
    scheduler = FakeScheduler(clock)
    repository = AuditRecorder(
      dependencies: .fake(clock, scheduler, log: Logger(label: "test") { [lines] _ in lines }))
  }

  /// Advances the clock and writes the rows that are due.
  private func pass(_ duration: Duration) async {
    scheduler.advance(by: duration)
    await repository.flush()
  }

  @Test("an audit row is written 50 ms later, together with the rows recorded meanwhile")
  func together() async throws {
    repository.open(destination)
    repository.record(.denied("flow.list"), by: .till)
    scheduler.advance(by: .milliseconds(49))
    #expect(destination.commits == [])
    repository.record(.denied("flow.get"), by: .bert)
    await pass(.milliseconds(1))
    #expect(destination.commits == [2])
    let row = try #require(destination.rows.first)
    #expect(
      row
        == .init(
          n: 0, at: clock.now() - .milliseconds(50), method: "flow.list", provider: .work,
          decision: .denied, rule: "(user)", outcome: "permission_denied", client: "till",
          uid: 1000, gid: 1000, pid: 7, unit: "till.service",
          correlationId: CorrelationID("cor_1")))
  }

  @Test("an audit row has every member of its event and caller")
  func members() async throws {
    repository.open(destination)
    let event = AuditEvent(
      method: "account.get", provider: .work, kind: "login", account: AccountID("acc_1"),
      scope: "openid", fields: ["email", "phone"], decision: .allowed, rule: "till",
      conditions: [.localAuth, .confirm, .hours], unmet: [.confirm, .account],
      failure: .interactionRequired, flow: FlowID("flw_1"), correlationID: "")
    let caller = AuditedCaller(
      client: "till", uid: 1, gid: 2, pid: 3, unit: "u.service", invocation: "4f",
      executable: "/bin/till")
    repository.record(event, by: caller)
    await repository.flush()
    #expect(
      destination.rows == [
        .init(
          n: 0, at: clock.now(), method: "account.get", provider: .work, kind: "login",
          account: AccountID("acc_1"), scope: "openid", fields: ["email", "phone"],
          decision: .allowed, rule: "till",
          conditions: [
            "local_auth": true, "confirm": false, "hours": true, "account": false,
          ],
          outcome: "interaction_required", client: "till", uid: 1, gid: 2, pid: 3,
          unit: "u.service", invocation: "4f", executable: "/bin/till", flow: FlowID("flw_1"))
      ])
  }

  @Test("the audit count of a minute is written when the minute ends, without another call")
  func minute() async throws {
    repository.open(destination)
    scheduler.advance(by: .seconds(20))
    for _ in 0..<5 { repository.record(.token(), by: .till) }
    await pass(.milliseconds(50))
    #expect(destination.rows.map(\.count) == [1])
    await pass(.seconds(39))
    #expect(destination.rows.map(\.count) == [1])
    scheduler.advance(by: .seconds(1))
    await pass(.milliseconds(50))
    #expect(destination.rows.map(\.count) == [1, 4])
    #expect(scheduler.pending == [])
  }

  @Test("audit rows that the store refuses are kept, retried after a second and written in order")
  func refused() async throws {
    repository.open(destination)
    destination.isRefusing = true
    repository.record(.denied("flow.list"), by: .till)
    await pass(.milliseconds(50))
    repository.record(.denied("flow.get"), by: .till)
    #expect(destination.rows == [])
    #expect(!repository.isFull)
    destination.isRefusing = false
    #expect(scheduler.pending == [.seconds(1)])
    await pass(.seconds(1))
    #expect(destination.rows.map(\.method) == ["flow.list", "flow.get"])
    #expect(scheduler.pending == [])
  }

  @Test("a full audit recorder admits no call until its rows are written")
  func full() async throws {
    repository.open(destination)
    destination.isRefusing = true
    try repository.admit()
    for uid in 0..<70 {
      let caller = AuditedCaller(client: "(user)", uid: UInt32(uid), gid: 0, pid: 1)
      for _ in 0..<60 { repository.record(.denied("flow.list"), by: caller) }
    }
    #expect(repository.isFull)
    let error = #expect(throws: UsherError.self) { try repository.admit() }
    #expect(error?.reason == .storageUnavailable)
    #expect(error?.isRetryable == true)
    await pass(.milliseconds(50))
    #expect(repository.isFull)
    destination.isRefusing = false
    await pass(.seconds(1))
    #expect(!repository.isFull)
    try repository.admit()
    #expect(destination.rows.count == AuditAggregator.maxWaiting)
    await repository.close()
    #expect(destination.rows.map(\.count).reduce(0, +) == 4200)
  }

  @Test(
    "without a store, the audit recorder keeps rows in memory and writes them once a store is open")
  func unopened() async throws {
    repository.record(.denied("system.unlock"), by: .till)
    #expect(scheduler.pending == [])
    await repository.flush()
    repository.open(destination)
    await pass(.milliseconds(50))
    #expect(destination.rows.map(\.method) == ["system.unlock"])
  }

  @Test(
    "closing the audit recorder writes all rows and counts, and later rows go to the next store")
  func closing() async throws {
    repository.open(destination)
    for _ in 0..<3 { repository.record(.token(), by: .till) }
    await repository.close()
    #expect(destination.rows.map(\.count) == [1, 2])
    repository.record(.denied("flow.list"), by: .till)
    await pass(.seconds(120))
    #expect(destination.rows.count == 2)
    let other = FakeAuditDestination()
    repository.open(other)
    await pass(.milliseconds(50))
    #expect(other.rows.count == 1)
    #expect(destination.rows.count == 2)
  }

  @Test("the audit recorder logs at its end how many rows are lost, and nothing if none are lost")
  func lost() async {
    repository.open(destination)
    repository.record(.token(), by: .till)
    await repository.close()
    repository.end()
    #expect(lines.all == [])
    repository.open(destination)
    destination.isRefusing = true
    for _ in 0..<3 { repository.record(.denied("flow.list"), by: .till) }
    await repository.close()
    repository.end()
    #expect(
      lines.all == [
        "error: the audit log cannot be written",
        "warning: rows of the audit log are lost: they could not be written, count 3",
      ])
  }

  @Test("audit rows are trimmed to the configured count and age, and at once after 1200 denials")
  func trimming() async throws {
    repository.open(destination)
    try await repository.trim()
    #expect(destination.trims == ["100000 since \(clock.now() - .seconds(90 * 86_400))"])
    for uid in 0..<20 {
      let caller = AuditedCaller(client: "(user)", uid: UInt32(uid), gid: 0, pid: 1)
      for _ in 0..<60 { repository.record(.denied("flow.list"), by: caller) }
    }
    await pass(.milliseconds(50))
    #expect(destination.trims.count == 2)
    destination.isRefusing = true
    await #expect(throws: UsherError.self) { try await repository.trim() }
    await repository.close()
    try await repository.trim()
  }

  @Test("the audit recorder counts all calls that eight concurrent tasks record")
  func threads() async throws {
    repository.open(destination)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1000 { repository.record(.token(), by: .till) }
          await repository.flush()
        }
      }
    }
    await repository.close()
    #expect(destination.rows.map(\.count) == [1, 7999])
  }
}

/// An audit store that keeps rows in memory, or refuses them on demand.
final class FakeAuditDestination: AuditDestination {
  private struct State {
    var rows: [AuditList.Entry] = []
    var commits: [Int] = []
    var trims: [String] = []
    var isRefusing = false
  }

  private let state = Mutex(State())

  var rows: [AuditList.Entry] { state.withLock { $0.rows } }
  var commits: [Int] { state.withLock { $0.commits } }
  var trims: [String] { state.withLock { $0.trims } }
  var isRefusing: Bool {
    get { state.withLock { $0.isRefusing } }
    set { state.withLock { $0.isRefusing = newValue } }
  }

  func append(_ entries: [AuditEntry]) async throws(UsherError) {
    try refuse()
    var rows: [AuditList.Entry] = []
    for entry in entries {
      let row = try entry.payload.decoded(as: AuditList.Entry.self)
      #expect(row.at == entry.at)
      rows.append(row)
    }
    state.withLock { state in
      state.rows += rows
      state.commits.append(rows.count)
    }
  }

  func trim(to most: Int, since cutoff: Timestamp, at now: Timestamp) async throws(UsherError)
    -> Int
  {
    try refuse()
    state.withLock { $0.trims.append("\(most) since \(cutoff)") }
    return 0
  }

  private func refuse() throws(UsherError) {
    guard isRefusing else { return }
    throw UsherError(.storageUnavailable, "the database cannot grow: the disk is full")
  }
}
