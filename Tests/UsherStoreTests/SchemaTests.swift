import FoundationEssentials
import GRDB
import Glibc
import Testing
import UsherCore

@testable import UsherStore

/// A database as each released schema left it, in `Fixtures/schema-N.db`. Its master key is
/// ``StoreFixture/masterKey``. To write the one of a new schema: `USHER_WRITE_FIXTURE=1`.
@Suite("schemas")
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

  @Test("a database of each released schema opens with all that is in it", arguments: 1...5)
  func released(_ version: Int) async throws {
    let fixture = try StoreFixture()
    try fixture.write(
      [UInt8](try Data(contentsOf: URL(filePath: "\(Self.fixtures)/schema-\(version).db"))))
    let store = try fixture.open()
    #expect(try store.loadFlows() == [.sample()])
    #expect(try store.loadJournal() == [.sample(revision: 1), .sample()])
    #expect(try store.loadRequests() == [.sample()])
    // Of a row that was written before it was kept, it is not known when it wakes, nor what calls it.
    var account = AccountRow.sample()
    if version < 4 {
      account.wakeAt = AccountRow.unknownWaking
      account.callTag = AccountRow.unknownCallTag
    }
    #expect(try store.loadAccounts() == [account])
    #expect(
      try store.wakingAccounts(until: StoreFixture.now, atMost: 9).map(\.id)
        == (version < 4 ? [account.id] : []))
    #expect(try store.loadTokens() == [.sample()])
    #expect(try store.loadCredentials().map(\.value) == [Secret("s3cr3t")])
    // The second schema's.
    let isThere = version > 1
    #expect(try store.loadConsents() == (isThere ? [.sample()] : []))
    #expect(try store.loadLocalAuth() == (isThere ? [.sample()] : []))
    // The third schema's.
    #expect(try store.loadConfirmations() == (version > 2 ? [.sample()] : []))
    #expect(try store.loadNote("lock") == (version > 2 ? .sample() : nil))
    // The fifth schema's.
    #expect(try store.loadOwners() == (version > 4 ? [.sample()] : []))
    // Before the fifth schema this note said that the daemon was locked.
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
    #expect(present == Schema.version)
    try store.close()
    try fixture.open().close()
  }

  @Test("the tables of the present schema are those of its fixture")
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
    let name = "\(Self.fixtures)/schema-\(Schema.version).db"
    try released.write([UInt8](try Data(contentsOf: URL(filePath: name))))
    #expect(try tables(fixture.path) == tables(released.path))
  }

  @Test("the digest of the present schema is that of the tables that its migrations make")
  func digest() throws {
    let made = try DatabaseQueue().write { db in
      try Schema.create(Schema.version, in: db)
      return try SchemaListing(of: db).digest
    }
    #expect(Schema.digest == made)
  }

  @Test(
    "(writes the fixture of the present schema)",
    .enabled(if: getenv("USHER_WRITE_FIXTURE") != nil, "only when a schema is new"))
  func writeFixture() async throws {
    let fixture = try StoreFixture()
    try await fixture.create(Self.content)
    let name = "\(Self.fixtures)/schema-\(Schema.version).db"
    try #require(access(name, F_OK) != 0, "a released schema's fixture is never written again")
    try Data(fixture.bytes()).write(to: URL(filePath: name))
  }
}
