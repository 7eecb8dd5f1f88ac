import Testing
import UsherCore

@testable import UsherStore

/// The time of row n is n seconds after the fixture's; rows before the sixth are old.
@Suite("Trimming of a tampered audit log")
struct AuditTrimTests {
  let fixture: StoreFixture

  init() throws { fixture = try StoreFixture() }

  private static let cutoff = AuditRow.sample(6).at
  private static let now = AuditRow.sample(20).at
  private static let dropped = "found when the oldest rows were deleted at \(now)"

  private static let deeds: [(deed: String, kept: ClosedRange<Int64>, findings: [String])] = [
    ("DELETE FROM audit WHERE n <= 3", 6...10, ["rows 1 to 3 were missing, \(dropped)"]),
    ("DELETE FROM audit WHERE n <= 5", 1...10, ["rows 1 to 5 are missing"]),
    ("DELETE FROM audit WHERE n BETWEEN 4 AND 7", 4...10, ["rows 4 to 7 are missing"]),
    ("DELETE FROM audit", 1...10, ["rows 1 to 10 are missing, and the end of the log is cut off"]),
    ("UPDATE audit SET at = 0 WHERE n = 2", 6...10, ["row 2 was altered, \(dropped)"]),
    (
      "UPDATE audit SET at = 0 WHERE n IN (1, 2, 4); DELETE FROM audit WHERE n = 3", 6...10,
      [
        "rows 1 to 2 were altered, \(dropped)", "row 3 was missing, \(dropped)",
        "row 4 was altered, \(dropped)",
      ]
    ),
    (
      "UPDATE audit SET at = 0 WHERE n IN (6, 8)", 6...10,
      ["row 6 was altered: it cannot be decrypted", "row 8 was altered: it cannot be decrypted"]
    ),
    (
      "UPDATE audit SET at = 0", 1...10,
      (1...10).map { "row \($0) was altered: it cannot be decrypted" }
    ),
  ]

  @Test(
    "audit.verify still finds changes to audit rows after the old rows are trimmed",
    arguments: deeds, [true, false])
  func found(
    _ deed: (deed: String, kept: ClosedRange<Int64>, findings: [String]), isRunning: Bool
  ) async throws {
    var store = try fixture.open()
    try await store.audit.append(.samples(1...10))
    if !isRunning { try store.close() }
    try fixture.tamper(deed.deed)
    if !isRunning {
      store = try fixture.open()
      try await check(store, deed.kept, deed.findings)
      try store.close()
      store = try fixture.open()
    }
    try await check(store, deed.kept, deed.findings)
  }

  private func check(
    _ store: Store, _ kept: ClosedRange<Int64>, _ findings: [String]
  ) async throws {
    for _ in 0..<2 { try await store.audit.trim(to: 100, since: Self.cutoff, at: Self.now) }
    let report = try await store.audit.verify()
    #expect(report.findings.map(\.message) == findings)
    #expect(report.rows == kept)
  }

  @Test(
    "trimming reports surplus audit rows that are missing until rows of their age are trimmed too")
  func tooMany() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...10))
    try fixture.tamper("DELETE FROM audit")
    #expect(try await store.audit.trim(to: 4, since: .earliest, at: Self.now) == 6)
    #expect(
      try await store.audit.verify().findings.map(\.message) == [
        "rows 1 to 6 were missing, \(Self.dropped)",
        "rows 7 to 10 are missing, and the end of the log is cut off",
      ])
    // Further missing rows extend the same finding.
    #expect(try await store.audit.trim(to: 2, since: .earliest, at: Self.now) == 2)
    #expect(
      try await store.audit.verify().findings.first?.message
        == "rows 1 to 8 were missing, \(Self.dropped)")
    try await store.audit.append(.samples(30...31))
    #expect(try await store.audit.trim(to: 2, since: Self.now, at: Self.now) == 2)
    #expect(
      try await store.audit.verify().findings.map(\.message)
        == ["rows 1 to 10 were missing, \(Self.dropped)"])
    let later = Self.now + .seconds(1)
    #expect(try await store.audit.trim(to: 1, since: later, at: later) == 1)
    #expect(try await store.audit.verify() == .init(rows: 12...12, begunAt: StoreFixture.now))
  }
}
