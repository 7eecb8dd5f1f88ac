import FoundationEssentials
import GRDB
import Glibc
import Testing
import UsherCore

@testable import UsherStore

/// `Fixtures/schema-N.db` is a database written with released schema N. Its master key is
/// ``StoreFixture/masterKey``. To write the file of a new schema, set `USHER_WRITE_FIXTURE=1`.
@Suite("Schemas of the database")
struct SchemaTests {
  private static let fixtures =
    String(#filePath[..<(#filePath.lastIndex(of: "/") ?? #filePath.endIndex)]) + "/Fixtures"

  private static let content: [Change] = [
    .putFlow(.sample()), .appendJournal(.sample(revision: 1)), .appendJournal(.sample()),
    .rememberRequest(.sample()), .putAccount(.sample()), .putToken(.sample()),
    .putConsent(.sample()), .putLocalAuth(.sample()),
    .putCredential("work-client-secret", Secret("s3cr3t")), .putConfirmation(.sample()),
    .putNote(.sample()), .putOwner(.sample()),
  ]

  @Test("a database of each released schema opens with all its rows migrated", arguments: 1...5)
  func released(_ version: Int) async throws {
    let fixture = try StoreFixture()
    try fixture.write(
      [UInt8](try Data(contentsOf: URL(filePath: "\(Self.fixtures)/schema-\(version).db"))))
    let store = try fixture.open()
    #expect(try store.loadFlows() == [.sample()])
    #expect(try store.loadJournal() == [.sample(revision: 1), .sample()])
    #expect(try store.loadRequests() == [.sample()])
    // Rows older than schema 4 have no wake time and no call tag, so both are unknown.
    var account = AccountRow.sample()
    if version < 4 {
      account.wakeAt = AccountRow.unknownWakeTime
      account.callTag = AccountRow.unknownCallTag
    }
    #expect(try store.loadAccounts() == [account])
    #expect(
      try store.dueAccounts(until: StoreFixture.now, atMost: 9).map(\.id)
        == (version < 4 ? [account.id] : []))
    #expect(try store.loadTokens() == [.sample()])
    #expect(try store.loadCredentials().map(\.value) == [Secret("s3cr3t")])
    // Tables since schema 2.
    let isThere = version > 1
    #expect(try store.loadConsents() == (isThere ? [.sample()] : []))
    #expect(try store.loadLocalAuth() == (isThere ? [.sample()] : []))
    // Tables since schema 3.
    #expect(try store.loadConfirmations() == (version > 2 ? [.sample()] : []))
    #expect(try store.loadNote("lock") == (version > 2 ? .sample() : nil))
    // Tables since schema 5.
    #expect(try store.loadOwners() == (version > 4 ? [.sample()] : []))
    // Before schema 5 this note meant that the daemon was locked.
    #expect(try store.isLocked == (version == 3 || version == 4))
    try await store.commit([
      .putFlow(.sample("flw_2")), .putConsent(.sample(grant: "read.lastname")),
      .putLocalAuth(.sample(uid: 1001)), .putConfirmation(.sample(client: "kiosk")),
      .putNote(.sample("other")), .putOwner(.sample(uid: 1001, isWithheld: true)),
    ])
    #expect(try store.loadOwner(realm: "host", uid: 1001)?.isWithheld == true)
    #expect(try store.loadWithheldOwners() == [.sample(uid: 1001, isWithheld: true)])
    #expect(try store.loadConsents().contains(.sample(grant: "read.lastname")))
    #expect(try store.loadLocalAuth().contains(.sample(uid: 1001)))
    #expect(try store.loadConfirmations().contains(.sample(client: "kiosk")))
    #expect(try store.loadNote("other") == .sample("other"))
    let present = try await store.database.read {
      try Int.fetchOne($0, sql: "PRAGMA user_version")
    }
    #expect(present == StoreSchema.version)
    try store.close()
    try fixture.open().close()
  }

  @Test("the tables of the current schema equal those of its fixture")
  func unchanged() async throws {
    let fixture = try StoreFixture()
    try await fixture.create()
    func tables(_ path: String) throws -> [String] {
      let database = try DatabaseQueue(path: path)
      defer { try? database.close() }
      return try database.read {
        try String.fetchAll(
          $0, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
      }
    }
    let released = try StoreFixture()
    let name = "\(Self.fixtures)/schema-\(StoreSchema.version).db"
    try released.write([UInt8](try Data(contentsOf: URL(filePath: name))))
    #expect(try tables(fixture.path) == tables(released.path))
  }

  @Test("the digest of the current schema equals that of the tables its migrations create")
  func digest() throws {
    let made = try DatabaseQueue().write { db in
      try StoreSchema.create(StoreSchema.version, in: db)
      return try SchemaListing(of: db).digest
    }
    #expect(StoreSchema.digest == made)
  }

  @Test(
    "the fixture file of a new schema is written if USHER_WRITE_FIXTURE is set",
    .enabled(if: getenv("USHER_WRITE_FIXTURE") != nil, "only when a schema is new"))
  func writeFixture() async throws {
    let fixture = try StoreFixture()
    try await fixture.create(Self.content)
    let name = "\(Self.fixtures)/schema-\(StoreSchema.version).db"
    try #require(access(name, F_OK) != 0, "the fixture of a released schema is never rewritten")
    try Data(fixture.bytes()).write(to: URL(filePath: name))
  }
}
