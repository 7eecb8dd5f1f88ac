import FoundationEssentials
import GRDB
import Testing
import UsherCore

@testable import UsherStore

/// Changes to the database by an attacker who has the file but not the key.
@Suite("Tampered audit log")
struct AuditTamperTests {
  let fixture: StoreFixture
  init() throws { fixture = try StoreFixture() }

  private static let deeds: [(deed: String, findings: [String])] = [
    ("DELETE FROM audit WHERE n = 4", ["row 4 is missing"]),
    ("DELETE FROM audit WHERE n IN (2, 3, 4, 7)", ["rows 2 to 4 are missing", "row 7 is missing"]),
    ("DELETE FROM audit WHERE n = 1", ["row 1 is missing"]),
    (
      "DELETE FROM audit WHERE n > 7",
      ["rows 8 to 10 are missing, and the end of the log is cut off"]
    ),
    ("DELETE FROM audit WHERE n = 10", ["row 10 is missing, and the end of the log is cut off"]),
    ("DELETE FROM audit", ["rows 1 to 10 are missing, and the end of the log is cut off"]),
    (
      "UPDATE audit SET sealed = zeroblob(length(sealed)) WHERE n = 4",
      ["row 4 was altered: it cannot be decrypted"]
    ),
    ("UPDATE audit SET at = at + 1 WHERE n = 4", ["row 4 was altered: it cannot be decrypted"]),
    (
      "UPDATE audit SET hash = zeroblob(32) WHERE n = 4",
      ["row 4 was altered: it cannot be decrypted"]
    ),
    (
      "UPDATE audit SET (at, sealed, hash) = "
        + "(SELECT at, sealed, hash FROM audit WHERE n = 3) WHERE n = 4",
      ["row 4 was altered: it cannot be decrypted"]
    ),
    (
      """
      UPDATE audit SET n = -1 WHERE n = 4; UPDATE audit SET n = 4 WHERE n = 5;
      UPDATE audit SET n = 5 WHERE n = -1
      """,
      [
        "row 4 was altered: it cannot be decrypted", "row 5 was altered: it cannot be decrypted",
      ]
    ),
    (
      "INSERT INTO audit SELECT 11, at, sealed, hash FROM audit WHERE n = 10",
      ["row 11 is beyond the last row that was written"]
    ),
    (
      "INSERT INTO audit SELECT n + 100, at, sealed, hash FROM audit WHERE n > 7",
      ["rows 108 to 110 are beyond the last row that was written"]
    ),
    (
      "INSERT INTO audit SELECT 9223372036854775807, at, sealed, hash FROM audit WHERE n = 1",
      ["row 9223372036854775807 is beyond the last row that was written"]
    ),
    (
      "INSERT INTO audit SELECT 9223372036854775805 + n, at, sealed, hash FROM audit WHERE n < 3",
      ["rows 9223372036854775806 to 9223372036854775807 are beyond the last row that was written"]
    ),
    (
      "INSERT INTO audit SELECT -9223372036854775807 - n, at, sealed, hash FROM audit WHERE n = 1;"
        + "INSERT INTO audit SELECT n - 2, at, sealed, hash FROM audit WHERE n BETWEEN 1 AND 2",
      [
        "row -9223372036854775808 is older than the first row of the log",
        "rows -1 to 0 are older than the first row of the log",
      ]
    ),
    (
      "INSERT INTO audit SELECT n - 1, at, sealed, hash FROM audit WHERE n = 1",
      ["row 0 is older than the first row of the log"]
    ),
  ]

  @Test("audit.verify finds each forged change, also after a restart", arguments: deeds)
  func found(_ deed: String, findings: [String]) async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...10))
    #expect(try await store.audit.verify().findings == [])
    try fixture.tamper(deed)
    #expect(try await store.audit.verify().findings.map(\.message) == findings)
    try store.close()
    let again = try fixture.open()
    let report = try await again.audit.verify()
    #expect(report.findings.map(\.message) == findings)
    #expect(report.rows == 1...10)
    for finding in report.findings {
      #expect(finding.message.contains("\(try #require(finding.n))"))
    }
  }

  @Test("audit.verify finds a last row that was taken from another copy of the same audit log")
  func otherEnd() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...9))
    let copy = try fixture.crashed()
    try await store.audit.append(.samples(10...10))
    try store.close()
    let other = try copy.open()
    try await other.audit.append([.sample(10, "another call")])
    try other.close()
    try fixture.tamper(
      """
      ATTACH '\(copy.path)' AS copy;
      UPDATE audit SET (at, sealed, hash) =
        (SELECT at, sealed, hash FROM copy.audit WHERE n = 10) WHERE n = 10;
      DETACH copy
      """)
    let again = try fixture.open()
    let report = try await again.audit.verify()
    try again.close()
    #expect(report.findings.map(\.message) == ["row 10 is not the last row that was written"])
  }

  @Test("missing audit rows are still reported after rows are appended and trimmed")
  func goingOn() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...10))
    try fixture.tamper("DELETE FROM audit WHERE n > 8")
    try await store.audit.append(.samples(11...12))
    #expect(try await store.audit.verify().findings.map(\.message) == ["rows 9 to 10 are missing"])
    #expect(try await store.audit.rows().map(\.n) == Array(1...8) + [11, 12])
    try await store.audit.trim(to: 2, since: .earliest)
    let report = try await store.audit.verify()
    #expect(report.rows == 11...12)
    #expect(
      report.findings.map(\.message)
        == [
          "rows 9 to 10 were missing, found when the oldest rows were deleted at "
            + "\(StoreFixture.now)"
        ])
  }

  @Test("an audit row that does not open is reported, and the other rows are still read")
  func reading() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...3))
    try fixture.tamper("UPDATE audit SET sealed = zeroblob(64) WHERE n = 2")
    let slice = try await store.audit.slice(of: 1...3, at: .earliest ... .latest)
    #expect(slice.rows == [.sample(1), .sample(3)])
    #expect(slice.unreadable == [2])
  }

  @Test("audit.verify finds a trimmed audit row that is put back")
  func putBack() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...3))
    try fixture.tamper("CREATE TABLE kept AS SELECT * FROM audit")
    try await store.audit.trim(to: 1, since: .earliest)
    try fixture.tamper("INSERT INTO audit SELECT * FROM kept WHERE n < 3")
    #expect(
      try await store.audit.verify().findings.map(\.message)
        == ["rows 1 to 2 are older than the first row of the log"])
  }

  @Test(
    "audit.verify finds a removed or altered audit head at once, and still after restarts",
    arguments: [
      (
        "DELETE FROM notes WHERE name = 'audit.head'", "the log's end record is missing",
        "the log's end record was missing at 2023-11-14T22:14:20.123Z; rebuilt from the rows up to"
      ),
      (
        "UPDATE notes SET sealed = zeroblob(80) WHERE name = 'audit.head'",
        "the log's end record was altered: it cannot be decrypted",
        "the log's end record could not be decrypted at 2023-11-14T22:14:20.123Z; rebuilt "
          + "from the rows up to"
      ),
    ])
  func head(_ deed: String, atOnce: String, later: String) async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...3))
    try fixture.tamper(deed)
    #expect(try await store.audit.verify().findings == [AuditFinding(nil, atOnce)])
    try store.close()
    let minuteLater = StoreFixture.now + .seconds(60)
    let again = try fixture.open(at: minuteLater)
    #expect(try await again.audit.verify().findings == [AuditFinding(nil, "\(later) 3")])
    try await again.audit.append(.samples(4...4))
    try again.close()
    let last = try fixture.open(at: minuteLater + .seconds(60))
    let report = try await last.audit.verify()
    #expect(report.findings == [AuditFinding(nil, "\(later) 3")])
    #expect(report.rows == 1...4)
    #expect(report.begunAt == minuteLater)
    // The finding is reported for as long as rows of that age are kept.
    try await last.audit.trim(to: 1, since: minuteLater + .seconds(1))
    #expect(try await last.audit.verify().findings == [])
  }

  @Test("audit.verify finds that the audit rows and their head were deleted together")
  func wiped() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...3))
    try store.close()
    try fixture.tamper("DELETE FROM audit; DELETE FROM notes WHERE name = 'audit.head'")
    let again = try fixture.open()
    try await again.audit.append(.samples(1...1))
    let report = try await again.audit.verify()
    #expect(
      report.findings == [
        AuditFinding(
          nil,
          "the log's end record was missing at \(StoreFixture.now); rebuilt from the rows up to 0")
      ])
    #expect(report.rows == 1...1)
  }

  @Test("audit.verify finds an older audit head that is put back, and no row is lost")
  func olderHead() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...3))
    let other = "ATTACH '\(fixture.path).other' AS o;"
    try fixture.tamper("\(other) CREATE TABLE o.kept AS SELECT * FROM notes")
    try await store.audit.append(.samples(4...6))
    try fixture.tamper(
      """
      \(other) INSERT OR REPLACE INTO notes SELECT * FROM o.kept WHERE name = 'audit.head'
      """)
    #expect(
      try await store.audit.verify().findings
        == [AuditFinding(nil, "the log's end record is not the last one that was written")])
    try store.close()
    let again = try fixture.open()
    let finding = AuditFinding(
      nil,
      "an older end record of the log was found at \(StoreFixture.now); it was continued to row 6")
    #expect(try await again.audit.verify().findings == [finding])
    try await again.audit.append(.samples(7...7))
    #expect(try await again.audit.rows() == (1...7).map { AuditRow.sample($0) })
    #expect(try await again.audit.verify().findings == [finding])
  }

  @Test("audit.verify finds audit rows from another branch of the same database")
  func branched() async throws {
    try await fixture.create()
    let before = fixture.bytes()
    let one = try fixture.open()
    try await one.audit.append(.samples(1...3))
    try one.close()
    try fixture.tamper(
      "ATTACH '\(fixture.path).other' AS o; CREATE TABLE o.kept AS SELECT * FROM audit")
    try fixture.write(before)
    let other = try fixture.open()
    try await other.audit.append(.samples(1...3))
    try other.close()
    try fixture.tamper(
      """
      ATTACH '\(fixture.path).other' AS o; DELETE FROM audit WHERE n = 2;
      INSERT INTO audit SELECT * FROM o.kept WHERE n = 2
      """)
    let mixed = try fixture.open()
    #expect(
      try await mixed.audit.verify().findings.map(\.message)
        == ["row 2 does not follow the row before it", "row 3 does not follow the row before it"])
  }

  @Test("audit.verify reports a hundred findings and then one that says there are more")
  func many() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...300))
    try fixture.tamper("UPDATE audit SET sealed = zeroblob(64)")
    let findings = try await store.audit.verify().findings
    #expect(findings.count == AuditReport.maxFindings + 1)
    #expect(findings.last?.message == "there are more findings, which are not listed")
    #expect(findings.last?.n == 101)
  }

  @Test("thousands of planted audit rows do not keep the store from appending rows")
  func planted() async throws {
    let store = try fixture.open()
    try await store.audit.append(.samples(1...3))
    try store.close()
    try fixture.tamper(
      """
      DELETE FROM notes WHERE name = 'audit.head';
      WITH RECURSIVE numbers (n) AS
        (SELECT 100 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
      INSERT INTO audit SELECT n, 1, zeroblob(64), zeroblob(32) FROM numbers;
      INSERT INTO audit VALUES (9223372036854775807, 1, zeroblob(64), zeroblob(32))
      """)
    let again = try fixture.open()
    try await again.audit.append(.samples(4...5))
    #expect(try await again.audit.rows() == (1...5).map { AuditRow.sample($0) })
    #expect(try await again.audit.verify().rows == 1...5)
  }
}
