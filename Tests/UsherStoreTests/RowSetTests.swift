import FoundationEssentials
import GRDB
import Testing
import UsherCore
import UsherTestKit

@testable import UsherStore

@Suite("Authenticated row sets")
struct RowSetTests {
  let fixture: StoreFixture
  init() throws { fixture = try StoreFixture() }

  private static let content: [Change] = [
    .putAccount(.sample()), .putConsent(.sample()), .putConsent(.sample(grant: "read.email")),
    .putLocalAuth(.sample()), .putLocalAuth(.sample(uid: 1001)),
    .putCredential("work-client-secret", Secret("s3cr3t")), .putConfirmation(.sample()),
    .putNote(.sample("other")),
  ]

  private func refusal() throws -> UsherError? {
    do throws(UsherError) {
      try fixture.open().close()
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "a deleted row of an authenticated table keeps the database from opening",
    arguments: [
      ("DELETE FROM consents WHERE grant_name = 'read.email'", "consents"),
      ("DELETE FROM local_auth", "local_auth"), ("DELETE FROM credentials", "credentials"),
      ("DELETE FROM confirmations", "confirmations"),
      ("DELETE FROM key_slots WHERE kind = 'recovery'", "key_slots"),
      ("DELETE FROM notes WHERE name = 'other'", "notes"), ("DELETE FROM notes", "notes"),
    ])
  func deleted(_ sql: String, table: String) async throws {
    let store = try fixture.open()
    try await store.commit(Self.content)
    try await store.setRecoveryKey(RecoveryKey([UInt8](repeating: 3, count: 32)), replacing: false)
    try store.close()
    try fixture.tamper(sql)
    let before = fixture.bytes()
    let error = try #require(try refusal())
    #expect(error.reason == .storageUnavailable && error.message.contains(table))
    #expect(error.message.contains("usherctl restore"), "\(error.message)")
    #expect(error.message.contains("usherctl recover --accept-changes"), "\(error.message)")
    let isUntouched = fixture.bytes() == before
    #expect(isUntouched)
  }

  @Test(
    "an older row that is put back keeps the database from opening",
    arguments: ["consents", "local_auth", "credentials", "confirmations", "key_slots"])
  func older(_ table: String) async throws {
    let key = RecoveryKey([UInt8](repeating: 3, count: 32))
    let store = try fixture.open()
    try await store.commit(Self.content)
    try await store.setRecoveryKey(key, replacing: false)
    let other = fixture.path + ".other"
    try fixture.tamper("ATTACH '\(other)' AS o; CREATE TABLE o.kept AS SELECT * FROM \(table)")
    try await store.commit(Self.content + [.putConsent(.sample(payload: "withdrawn"))])
    try await store.setRecoveryKey(key, replacing: true)
    try store.close()
    try fixture.tamper(
      """
      ATTACH '\(other)' AS o;
      INSERT OR REPLACE INTO \(table) SELECT * FROM o.kept
        WHERE \(table == "key_slots" ? "kind = 'recovery'" : "1")
      """)
    #expect(try refusal()?.message.contains(table) == true)
  }

  @Test(
    "a database opens after any sequence of changes that the store made itself",
    arguments: 1...3 as ClosedRange<UInt64>)
  func kept(_ seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    for round in 0..<8 {
      let store = try fixture.open()
      for _ in 0..<20 {
        let one = UInt32.random(in: 1000...1003, using: &random)
        let name = "client\(one)"
        let changes: [[Change]] = [
          [.putAccount(.sample("acc_\(one)", subject: name)), .putConsent(.sample("acc_\(one)"))],
          [.deleteAccount(AccountID("acc_\(one)"))],
          [.deleteConsent(AccountID("acc_\(one)"), client: "till", grant: "read.firstname")],
          [.putLocalAuth(.sample(uid: one))], [.deleteLocalAuth(realm: "host", uid: one)],
          [.putCredential(name, Secret(name))], [.deleteCredential(name)],
          [.putConfirmation(.sample(client: name, expiresAt: Timestamp(seconds: Double(one))))],
          [
            .deleteConfirmation(
              realm: "host", uid: 1000, client: name, question: "token.get work")
          ],
          [.forgetConfirmations(expiredBy: Timestamp(seconds: Double(one)))],
          [.putNote(.sample(name))], [.deleteNote(name)], [.putFlow(.sample(name))],
        ]
        try await store.commit(changes.randomElement(using: &random) ?? [])
      }
      // A failing commit changes nothing and does not affect the commits next to it.
      let failing = Task {
        try await store.commit([.putLocalAuth(.sample(uid: 7)), .putConsent(.sample("acc_none"))])
      }
      try await store.commit([.putNote(.sample("neighbour \(round)"))])
      await #expect(throws: UsherError.self) { try await failing.value }
      try await store.audit.append([AuditEntry.sample(Int64(round))])
      try store.close()
    }
    #expect(try refusal() == nil)
  }

  @Test(
    "a foreign or missing trigger, view, table, index or column is refused by its name",
    arguments: [
      (
        "CREATE TRIGGER k BEFORE DELETE ON consents BEGIN SELECT RAISE(IGNORE); END",
        "the trigger \"k\""
      ),
      ("CREATE VIEW v AS SELECT * FROM notes", "the view \"v\""),
      ("CREATE TABLE t (a)", "the table \"t\""),
      ("CREATE INDEX i ON notes (name)", "the index \"i\""),
      ("ALTER TABLE notes ADD COLUMN c TEXT", "the table \"notes\""),
      ("DROP INDEX requests_by_expiry", "the index \"requests_by_expiry\""),
    ])
  func foreignSchema(_ sql: String, named name: String) async throws {
    try await fixture.create(Self.content)
    try fixture.tamper(sql)
    let error = try #require(try refusal())
    #expect(error.message.contains(name), "\(error.message)")
    #expect(error.message.contains("usherctl restore"))
  }

  @Test("a new database whose schema version was set back to 4 is refused")
  func setBack() async throws {
    try await fixture.create(Self.content)
    try fixture.tamper(
      "DELETE FROM notes; DELETE FROM local_auth; DROP TABLE owners; PRAGMA user_version = 4")
    #expect(try refusal()?.message.contains("set it back") == true)
  }

  @Test("a database with an emptied index page is refused as damaged")
  func hollowIndex() async throws {
    try await fixture.create(Self.content)
    let database = try DatabaseQueue(path: fixture.path)
    let (root, size) = try await database.read { db in
      (
        try Int.fetchOne(
          db,
          sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_confirmations_1'"),
        try Int.fetchOne(db, sql: "PRAGMA page_size")
      )
    }
    try database.close()
    let (page, length) = (try #require(root), try #require(size))
    var bytes = fixture.bytes()
    // An index leaf page without cells (SQLite Database File Format §1.6).
    let empty: [UInt8] = [10, 0, 0, 0, 0, UInt8(length >> 8 & 255), UInt8(length & 255), 0]
    let start = (page - 1) * length
    bytes.replaceSubrange(
      start..<start + length, with: empty + [UInt8](repeating: 0, count: length - empty.count))
    try fixture.write(bytes)
    let error = try #require(try refusal())
    #expect(error.message.contains("damaged"), "\(error.message)")
  }

  @Test("a changed database opens if changes are accepted, and is locked then")
  func accepted() async throws {
    try await fixture.create(Self.content)
    #expect(try fixture.open(acceptsChanges: true).acceptedTables == [])
    try fixture.tamper("DELETE FROM local_auth; DELETE FROM consents")
    let store = try fixture.open(acceptsChanges: true)
    #expect(store.acceptedTables == ["consents", "local_auth"])
    #expect(try store.isLocked && store.loadCredentials().count == 1)
    try await store.setLocked(false)
    try store.close()
    #expect(try !fixture.open().isLocked)
  }

  @Test("accepted changes include missing digests, but not a foreign trigger")
  func acceptedWithout() async throws {
    try await fixture.create(Self.content)
    try fixture.tamper("DELETE FROM notes")
    #expect(try fixture.open(acceptsChanges: true).isLocked)
    #expect(try refusal() == nil)
    try fixture.tamper(
      "CREATE TRIGGER k BEFORE DELETE ON consents BEGIN SELECT RAISE(IGNORE); END")
    #expect(throws: UsherError.self) { try fixture.open(acceptsChanges: true) }
  }

  @Test("setLocked locks and unlocks the store")
  func locked() async throws {
    let store = try fixture.open()
    #expect(try !store.isLocked)
    try await store.setLocked(true)
    #expect(try store.isLocked)
    try await store.setLocked(false)
    #expect(try !store.isLocked)
  }
}
