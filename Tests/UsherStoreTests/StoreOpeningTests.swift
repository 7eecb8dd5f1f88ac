import FoundationEssentials
import GRDB
import Glibc
import Testing
import UsherCore

@testable import UsherStore

@Suite("Opening of the database")
struct StoreOpeningTests {
  let fixture: StoreFixture

  init() throws { fixture = try StoreFixture() }

  /// Returns the value of a pragma on the writing connection.
  private func pragma(_ name: String, of store: Store) async throws -> String? {
    try await store.database.writeWithoutTransaction {
      try String.fetchOne($0, sql: "PRAGMA \(name)")
    }
  }

  @Test("a new database has usherd's application id, mode 600, WAL, and full synchronous mode")
  func created() async throws {
    let store = try fixture.open()
    try await store.commit([.putFlow(.sample())])
    let settings = [
      "synchronous": "2", "journal_mode": "wal", "secure_delete": "1", "foreign_keys": "1",
      "application_id": "\(StoreSchema.applicationID)", "user_version": "\(StoreSchema.version)",
    ]
    for (name, expected) in settings { #expect(try await pragma(name, of: store) == expected) }
    for suffix in ["", "-wal", "-shm", ".lock"] {
      var status = stat()
      #expect(stat(fixture.path + suffix, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600, "\(suffix)")
    }
    #expect(fixture.bytes(".new").isEmpty)
  }

  @Test("a reopened database syncs every commit, like a new one")
  func reopenedIsSynchronous() async throws {
    try await fixture.create()
    let store = try fixture.open()
    #expect(try await pragma("synchronous", of: store) == "2")
  }

  @Test("closing the store leaves only the database file, and opening resets its mode to 600")
  func modes() async throws {
    try await fixture.create([.putFlow(.sample())])
    #expect(fixture.bytes("-wal").isEmpty && fixture.bytes("-shm").isEmpty)
    chmod(fixture.path, 0o644)
    _ = try fixture.open()
    var status = stat()
    #expect(stat(fixture.path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
  }

  @Test("the store refuses another master key and does not change the database")
  func wrongKey() async throws {
    try await fixture.create([.putFlow(.sample())])
    try fixture.expectRefusal(
      "was sealed under another master key", masterKey: [UInt8](repeating: 7, count: 32))
    #expect(try fixture.open().loadFlows() == [.sample()])
  }

  @Test("after a crash the write-ahead log is replayed, and a wrong master key leaves it unchanged")
  func afterCrash() async throws {
    let store = try fixture.open()
    try await store.commit([.putFlow(.sample())])
    let crashed = try fixture.crashed()
    let before = (crashed.bytes(), crashed.bytes("-wal"))
    let error = try #require(throws: UsherError.self) {
      try crashed.open(masterKey: [UInt8](repeating: 7, count: 32))
    }
    #expect(error.message.contains("another master key"))
    #expect(crashed.bytes() == before.0)
    #expect(crashed.bytes("-wal") == before.1)
    #expect(try crashed.open().loadFlows() == [.sample()])
  }

  @Test("a master key that is too short is refused before any file is created")
  func shortKey() throws {
    let error = try #require(throws: UsherError.self) {
      try fixture.open(masterKey: [UInt8](repeating: 1, count: 31))
    }
    #expect(error.message.contains("31 bytes"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.directory).isEmpty)
  }

  @Test(
    "the store refuses a file that is not an SQLite database, also an empty one",
    arguments: [[], Array("SQLite format 3\0".utf8), Array(repeating: 0x55, count: 8192)])
  func foreignFile(_ content: [UInt8]) throws {
    try fixture.write(content)
    try fixture.expectRefusal("not an SQLite database")
  }

  @Test("an SQLite database of another program is refused")
  func foreignDatabase() throws {
    try fixture.tamper("CREATE TABLE flows (id TEXT)")
    try fixture.expectRefusal("belongs to another program")
  }

  @Test("a database that is truncated at a page is refused as damaged", arguments: [1, 2, 5])
  func truncated(pages: Int) async throws {
    try await fixture.create([.putFlow(.sample())])
    try fixture.write(Array(fixture.bytes().prefix(pages * 4096)))
    try fixture.expectRefusal("damaged")
  }

  @Test("a database with damaged pages is refused as damaged")
  func damagedPage() async throws {
    try await fixture.create([.putFlow(.sample())])
    var bytes = fixture.bytes()
    for index in 4096..<3 * 4096 { bytes[index] ^= 0xa5 }
    try fixture.write(bytes)
    try fixture.expectRefusal("damaged")
  }

  @Test("a database of a newer schema is refused with the schema's number")
  func newerSchema() async throws {
    try await fixture.create()
    try fixture.tamper("PRAGMA user_version = 99")
    try fixture.expectRefusal("was written by a newer usherd: its schema is 99")
  }

  @Test("a newer database schema that is only in the write-ahead log is refused")
  func newerSchemaInLog() async throws {
    let store = try fixture.open()
    try await store.database.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA user_version = 99")
    }
    let crashed = try fixture.crashed()
    let error = try #require(throws: UsherError.self) { try crashed.open() }
    #expect(error.message.contains("newer usherd"))
  }

  @Test("a database without its master key slot is refused")
  func noSlot() async throws {
    try await fixture.create()
    try fixture.tamper("DELETE FROM key_slots")
    try fixture.expectRefusal(
      "\(fixture.path) has no key slot of kind master; restore a backup: usherctl")
  }

  @Test("a database with a duplicated schema entry is refused by the name of the object")
  func doubledObject() async throws {
    try await fixture.create()
    // SQLite uses the last entry, which may name another tree of pages.
    try fixture.tamper(
      """
      PRAGMA writable_schema = ON;
      INSERT INTO sqlite_schema SELECT * FROM sqlite_schema
        WHERE name = 'sqlite_autoindex_accounts_1';
      """)
    try fixture.expectRefusal(
      "the index \"sqlite_autoindex_accounts_1\" differs from the one that usherd creates")
  }

  @Test("a write-ahead log without its database is refused and left unchanged")
  func orphanedLog() throws {
    try fixture.write([1, 2, 3], to: "-wal")
    try fixture.expectRefusal("is missing, but its write-ahead log exists")
    #expect(fixture.bytes("-wal") == [1, 2, 3])
  }

  @Test("the left-over files of an interrupted creation of the database are replaced")
  func interruptedCreation() throws {
    try fixture.write([1, 2, 3], to: ".new")
    try fixture.write([1, 2, 3], to: ".new-journal")
    let store = try fixture.open()
    #expect(try store.loadFlows().isEmpty)
    #expect(fixture.bytes(".new").isEmpty && fixture.bytes(".new-journal").isEmpty)
  }

  @Test("a second opener of the database is refused until the first has closed")
  func secondOpener() throws {
    let first = try fixture.open()
    let error = try #require(throws: UsherError.self) { try fixture.open() }
    #expect(error.message.contains("in use by another usherd"))
    #expect(try first.loadFlows().isEmpty)
    try first.close()
    try fixture.open().close()
  }

  @Test("a missing directory of the database is an error, and is not created")
  func missingDirectory() throws {
    let error = try #require(throws: UsherError.self) {
      try StoreFixture.open(fixture.directory + "/missing/usherd.db")
    }
    #expect(error.message.contains("No such file or directory"))
    #expect(access(fixture.directory + "/missing", F_OK) != 0)
  }

  @Test("a directory at the path of the database is refused")
  func directoryAtPath() throws {
    mkdir(fixture.path, 0o700)
    let error = try #require(throws: UsherError.self) { try fixture.open() }
    #expect(error.message.contains("is not a regular file"))
  }

  @Test("a database without write permission is refused with the system's error")
  func notPermitted() async throws {
    try await fixture.create()
    chmod(fixture.directory, 0o777)
    chmod(fixture.path + ".lock", 0o666)
    chmod(fixture.path, 0o400)
    await #expect(processExitsWith: .success) { [path = fixture.path as String] in
      if getuid() == 0 { try #require(setuid(65534) == 0) }
      let error = try #require(throws: UsherError.self) { try StoreFixture.open(path) }
      #expect(error.message.contains("Permission denied"))
    }
  }
}
