import Crypto
import FoundationEssentials
import GRDB
import Glibc
import Testing
import UsherCore
import UsherTestKit

@testable import UsherStore

@Suite("Opening with the recovery key")
struct RecoveryTests {
  private static let otherMaster = [UInt8](repeating: 7, count: 32)
  private let fixture: StoreFixture
  private let key = RecoveryKey([UInt8](repeating: 3, count: 32))
  private let otherKey = RecoveryKey([UInt8](repeating: 4, count: 32))

  init() throws { fixture = try StoreFixture() }

  /// Creates and closes a store that holds a flow and the recovery key.
  private func create() async throws {
    let store = try fixture.open()
    try await store.commit([.putFlow(.sample())])
    try await store.setRecoveryKey(key, replacing: false)
    try store.close()
  }

  /// Returns all rows but the key slots and their digest, read without a key.
  private func rows() throws -> [String: [Row]] {
    let database = try DatabaseQueue(path: fixture.path)
    defer { try? database.close() }
    return try database.read { db in
      let tables = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'key_slots'")
      return try tables.reduce(into: [:]) { all, table in
        let condition = table == "notes" ? "name != '\(RowSets.name)'" : "1"
        all[table] = try Row.fetchAll(
          db, sql: "SELECT * FROM \(table) WHERE \(condition) ORDER BY 1")
      }
    }
  }

  private func slots() throws -> [String: Data] {
    let database = try DatabaseQueue(path: fixture.path)
    defer { try? database.close() }
    return try database.read { db in
      let rows = try Row.fetchAll(db, sql: "SELECT kind, wrapped FROM key_slots")
      return Dictionary(uniqueKeysWithValues: rows.map { ($0["kind"], $0["wrapped"]) })
    }
  }

  @Test("with the recovery key, a new database whose schema version was set back is refused")
  func setBack() async throws {
    try await create()
    try fixture.tamper(
      """
      DELETE FROM notes; DROP TABLE owners; PRAGMA user_version = 4;
      UPDATE key_slots SET wrapped = zeroblob(length(wrapped)) WHERE kind = 'master'
      """)
    try fixture.expectRefusal("set it back", masterKey: Self.otherMaster, recoveryKey: key)
  }

  /// A recovery slot that usherd 0.1.0 wrote does not say whether rows are authenticated, so
  /// deleted rows are not detected.
  @Test("a database of schema 4 that is opened with the recovery key begins locked")
  func earlierSchema() async throws {
    try await create()
    let database = try DatabaseQueue(path: fixture.path)
    try await database.write { [key] db in
      let opened = try #require(
        try KeySlot.master.open(with: SymmetricKey(data: StoreFixture.masterKey), in: db))
      try KeySlot.recovery.store(
        opened.dataKey, under: SymmetricKey(data: key.bytes), at: Timestamp(milliseconds: 0),
        entropy: SystemEntropy(), form: KeySlot.firstForm, into: db)
      try db.execute(
        sql: """
          DELETE FROM notes; DROP TABLE owners; PRAGMA user_version = 4;
          UPDATE key_slots SET wrapped = zeroblob(length(wrapped)) WHERE kind = 'master'
          """)
    }
    try database.close()
    let store = try fixture.open(masterKey: Self.otherMaster, recoveryKey: key)
    #expect(try store.isLocked)
    try store.close()
  }

  @Test("a store opens with its recovery key and a new master key, which opens it from then on")
  func recovered() async throws {
    try await create()
    let (rowsBefore, slotsBefore) = (try rows(), try slots())
    let store = try fixture.open(masterKey: Self.otherMaster, recoveryKey: key)
    #expect(store.wasRecovered && store.hasRecoveryKey)
    #expect(try store.loadFlows() == [.sample()])
    try store.close()
    #expect(try rows() == rowsBefore)
    let slots = try slots()
    #expect(slots["recovery"] == slotsBefore["recovery"] && slots["recovery"] != nil)
    #expect(slots["master"] != slotsBefore["master"] && slots.count == 2)
    let again = try fixture.open(masterKey: Self.otherMaster)
    #expect(!again.wasRecovered)
    #expect(try again.loadFlows() == [.sample()])
    try again.close()
    let error = try #require(throws: UsherError.self) { try fixture.open() }
    #expect(error.message.contains("another master key"))
    #expect(try fixture.open(masterKey: Self.otherMaster, recoveryKey: key).wasRecovered == false)
  }

  @Test("the recovery key is not requested if the master key opens the store")
  func notAsked() async throws {
    try await create()
    let before = try slots()
    let store = try Store.open(
      path: fixture.path, masterKey: StoreFixture.masterKey,
      recoveryKey: { () throws(UsherError) in
        Issue.record("asked")
        return nil
      },
      keyStorage: { PlainKey(bytes: Array($0)) }, clock: FakeClock(StoreFixture.now),
      entropy: SystemEntropy(), blocking: TestPool())
    try store.close()
    #expect(try slots() == before)
  }

  @Test("a wrong recovery key, or any key for a store without a recovery key, is refused")
  func refusals() async throws {
    try await fixture.create([.putFlow(.sample())])
    #expect(try fixture.open().hasRecoveryKey == false)
    try fixture.expectRefusal("has no recovery key", masterKey: Self.otherMaster, recoveryKey: key)
    try fixture.expectRefusal("has no recovery key", masterKey: Self.otherMaster, recoveryKey: nil)
    try FileManager.default.removeItem(atPath: fixture.path)
    try await create()
    try fixture.expectRefusal("usherctl recover", masterKey: Self.otherMaster, recoveryKey: nil)
    try fixture.expectRefusal(
      "another recovery key", masterKey: Self.otherMaster, recoveryKey: otherKey)
  }

  @Test("a recovery slot with the content of the master slot does not open")
  func tampered() async throws {
    try await create()
    try fixture.tamper(
      """
      UPDATE key_slots SET wrapped = (SELECT wrapped FROM key_slots WHERE kind = 'master')
      WHERE kind = 'recovery'
      """)
    let master = RecoveryKey(StoreFixture.masterKey)
    try fixture.expectRefusal(
      "another recovery key", masterKey: Self.otherMaster, recoveryKey: master)
  }

  @Test("a recovery key is replaced only on request; then the old key opens nothing")
  func replacing() async throws {
    let store = try fixture.open()
    #expect(!store.hasRecoveryKey)
    try await store.setRecoveryKey(key, replacing: false)
    #expect(store.hasRecoveryKey)
    let conflict = await #expect(throws: UsherError.self) {
      try await store.setRecoveryKey(otherKey, replacing: false)
    }
    #expect(conflict?.reason == .conflict)
    try await store.setRecoveryKey(otherKey, replacing: true)
    try store.close()
    try fixture.expectRefusal("another recovery key", masterKey: Self.otherMaster, recoveryKey: key)
    #expect(try fixture.open(masterKey: Self.otherMaster, recoveryKey: otherKey).wasRecovered)
  }

  @Test("the check whether a recovery key opens a database does not change the file")
  func asking() async throws {
    try await create()
    let before = fixture.bytes()
    #expect(try Store.isOpened(at: fixture.path, by: key))
    #expect(try !Store.isOpened(at: fixture.path, by: otherKey))
    #expect(try !Store.isOpened(at: fixture.path + ".none", by: key))
    #expect(fixture.bytes() == before)
    try fixture.write([1, 2, 3])
    #expect(throws: UsherError.self) { try Store.isOpened(at: fixture.path, by: key) }
  }

  @Test("a crashed database is recovered together with its write-ahead log")
  func afterCrash() async throws {
    let store = try fixture.open()
    try await store.setRecoveryKey(key, replacing: false)
    try await store.commit([.putFlow(.sample())])
    let crashed = try fixture.crashed()
    let recovered = try crashed.open(masterKey: Self.otherMaster, recoveryKey: key)
    #expect(recovered.wasRecovered)
    #expect(try recovered.loadFlows() == [.sample()])
  }
}
