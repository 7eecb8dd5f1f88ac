import FoundationEssentials
import GRDB
import Glibc
import Testing
import UsherCore

@testable import UsherStore

@Suite("Audit log in the store")
struct AuditTests {
  let fixture: StoreFixture
  init() throws { fixture = try StoreFixture() }

  @Test("audit rows come back in order, numbered from 1, also after a restart")
  func roundTrip() async throws {
    let store = try fixture.open()
    #expect(try await store.audit.rows() == [])
    try await store.audit.append(.samples(1...2))
    try await store.audit.append(.samples(3...3))
    try await store.audit.append([])
    let rows = (1...3).map { AuditRow.sample($0) }
    #expect(try await store.audit.rows() == rows)
    #expect(try await store.audit.verify().rows == 1...3)
    try store.close()
    let again = try fixture.open(at: StoreFixture.now + .seconds(60))
    #expect(try await again.audit.rows() == rows)
    try await again.audit.append(.samples(4...4))
    #expect(try await again.audit.rows().map(\.n) == [1, 2, 3, 4])
    let report = try await again.audit.verify()
    #expect(report == AuditReport(rows: 1...4, begunAt: StoreFixture.now))
  }

  @Test("an audit log without rows verifies without findings")
  func empty() async throws {
    let store = try fixture.open()
    let report = try await store.audit.verify()
    #expect(report == AuditReport(rows: nil, begunAt: StoreFixture.now))
    try store.close()
    let error = await #expect(throws: UsherError.self) { try await store.audit.verify() }
    #expect(error?.reason == .storageUnavailable)
  }

  @Test("concurrent audit appends are numbered without gaps, and each append stays together")
  func concurrent() async throws {
    let store = try fixture.open()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<20 {
        group.addTask {
          try await store.audit.append((0..<5).map { .sample(1, "\(writer)/\($0)") })
        }
      }
      try await group.waitForAll()
    }
    let rows = try await store.audit.rows()
    #expect(rows.map(\.n) == Array(1...100))
    let texts = rows.map { String(decoding: $0.payload.bytes, as: UTF8.self) }
    for place in stride(from: 0, to: 100, by: 5) {
      let writer = texts[place].prefix { $0 != "/" }
      #expect(texts[place..<place + 5] == ["0", "1", "2", "3", "4"].map { "\(writer)/\($0)" }[...])
    }
    #expect(try await store.audit.verify().findings == [])
  }

  @Test("the text of an audit row is not in the database files, open or closed")
  func canary() async throws {
    let store = try fixture.open()
    try await store.audit.append([.sample(1, "CANARY-51c9")])
    func isClean() -> Bool {
      ["", "-wal"].allSatisfy { !contains(fixture.bytes($0), Array("CANARY-51c9".utf8)) }
    }
    #expect(isClean())
    try store.close()
    #expect(isClean())
  }

  @Test("an audit read returns the rows of a time range and the last number that it examined")
  func times() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...5))
    func time(_ n: Int64) -> Timestamp { AuditRow.sample(n).at }
    #expect(try await store.audit.span(of: time(2)...time(4)) == 2...4)
    #expect(try await store.audit.span(of: time(6)...time(7)) == nil)
    #expect(try await store.audit.span(of: .earliest ... .latest) == 1...5)
    let slice = try await store.audit.slice(of: 1...4, at: time(2)...time(3))
    #expect(slice.rows == [.sample(2), .sample(3)])
    #expect(slice.end == 4)
    #expect(slice.scanned == 4)
    let nothing = try await store.audit.slice(of: 6...9, at: .earliest ... .latest)
    #expect(nothing == AuditSlice())
  }

  @Test("audit rows written out of time order are all found by a time range")
  func disorder() async throws {
    let store = try fixture.open()
    try await store.audit.append([.sample(5), .sample(1), .sample(9), .sample(2)])
    func time(_ n: Int64) -> Timestamp { AuditRow.sample(n).at }
    #expect(try await store.audit.span(of: time(2)...time(5)) == 1...4)
    let slice = try await store.audit.slice(of: 1...4, at: time(2)...time(5))
    #expect(slice.rows.map(\.n) == [1, 4])
  }

  @Test("audit trimming removes surplus and old rows, oldest first, and the rest verifies")
  func trimming() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...20))
    #expect(try await store.audit.trim(to: 20, since: .earliest) == 0)
    #expect(try await store.audit.trim(to: 15, since: .earliest) == 5)
    #expect(try await store.audit.rows().map(\.n) == Array(6...20))
    #expect(try await store.audit.trim(to: 15, since: AuditRow.sample(10).at) == 4)
    #expect(try await store.audit.verify() == .init(rows: 10...20, begunAt: StoreFixture.now))
    try store.close()
    let again = try fixture.open()
    #expect(try await again.audit.verify() == .init(rows: 10...20, begunAt: StoreFixture.now))
    #expect(try await again.audit.trim(to: 15, since: .latest) == 11)
    #expect(try await again.audit.verify().rows == nil)
    try await again.audit.append(.samples(21...21))
    #expect(try await again.audit.rows().map(\.n) == [21])
    #expect(try await again.audit.verify() == .init(rows: 21...21, begunAt: StoreFixture.now))
  }

  @Test("audit trimming by age stops at the first young row, even if later rows have old times")
  func trimmingDisorder() async throws {
    let store = try fixture.open()
    try await store.audit.append([.sample(1), .sample(9), .sample(2)])
    #expect(try await store.audit.trim(to: 100, since: AuditRow.sample(5).at) == 1)
    #expect(try await store.audit.rows().map(\.n) == [2, 3])
  }

  @Test("thousands of audit rows are verified, and trimmed in several steps")
  func many() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...5000))
    #expect(try await store.audit.verify() == .init(rows: 1...5000, begunAt: StoreFixture.now))
    let first = try await store.audit.trim(to: 10, since: .earliest)
    #expect((1...4990).contains(first))
    var gone = first
    for _ in 0..<20 where gone < 4990 {
      gone += try await store.audit.trim(to: 10, since: .earliest)
    }
    #expect(gone == 4990)
    #expect(try await store.audit.verify() == .init(rows: 4991...5000, begunAt: StoreFixture.now))
  }

  @Test("a refused audit append leaves no trace, and the next row gets its number")
  func full() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...2))
    try await store.database.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA query_only = 1")
    }
    let error = await #expect(throws: UsherError.self) {
      try await store.audit.append(.samples(3...4))
    }
    #expect(error?.reason == .storageUnavailable)
    #expect(try await store.audit.verify().findings == [])
    try await store.database.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA query_only = 0")
    }
    try await store.audit.append([.sample(3)])
    #expect(try await store.audit.rows() == [.sample(1), .sample(2), .sample(3)])
    #expect(try await store.audit.verify() == .init(rows: 1...3, begunAt: StoreFixture.now))
  }

  @Test(
    "a kill around an audit commit leaves rows and head consistent",
    arguments: [("audit.before-commit", 2), ("audit.after-commit", 4)])
  func killed(_ point: String, survivors: Int) async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = fixture.path as String, point = point as String] in
      setenv("USHER_FAILPOINT", "\(point):2", 1)
      let store = try StoreFixture.open(path)
      try await store.audit.append(.samples(1...2))
      try await store.audit.append(.samples(3...4))
    }
    let store = try fixture.open()
    #expect(try await store.audit.rows().count == survivors)
    try await store.audit.append([.sample(9)])
    #expect(try await store.audit.rows().count == survivors + 1)
    #expect(try await store.audit.verify().findings == [])
  }
}

extension AuditRow {
  /// Returns row `n`, whose time is `n` seconds after the fixture's.
  static func sample(_ n: Int64) -> AuditRow {
    let entry = AuditEntry.sample(n)
    return AuditRow(n: n, at: entry.at, payload: entry.payload)
  }
}

extension AuditEntry {
  static func sample(_ n: Int64, _ text: String? = nil) -> AuditEntry {
    AuditEntry(
      at: StoreFixture.now + .seconds(n),
      payload: SealedPayload(Array((text ?? "call \(n)").utf8)))
  }
}

extension [AuditEntry] {
  static func samples(_ numbers: ClosedRange<Int64>) -> [AuditEntry] {
    numbers.map { .sample($0) }
  }
}

extension AuditLog {
  @discardableResult
  func trim(to most: Int, since cutoff: Timestamp) async throws -> Int {
    try await trim(to: most, since: cutoff, at: StoreFixture.now)
  }

  /// Returns the rows that one read finds and can decrypt.
  func rows() async throws -> [AuditRow] {
    guard let span = try await span(of: .earliest ... .latest) else { return [] }
    return try await slice(of: span, at: .earliest ... .latest).rows
  }
}
