import Crypto
import FoundationEssentials
import GRDB
import Glibc
import Testing
import UsherCore

@testable import UsherStore

@Suite("opening by the recovery key")
struct RecoveryTests {
  private static let otherMaster = [UInt8](repeating: 7, count: 32)
  private let fixture: StoreFixture
  private let key = RecoveryKey([UInt8](repeating: 3, count: 32))
  private let otherKey = RecoveryKey([UInt8](repeating: 4, count: 32))

  init() throws { fixture = try StoreFixture() }

  /// A closed store with a flow, and the recovery key.
  private func create() async throws {
    let store = try fixture.open()
    try await store.commit([.putFlow(.sample())])
    try await store.setRecoveryKey(key, replacing: false)
    try store.close()
  }

  /// Everything in the database but the slots and their digest, as somebody without a key sees it.
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

  @Test("a schema that was set back does not make an old database of a new one either")
  func setBack() async throws {
    try await create()
    try fixture.tamper(
      """
      DELETE FROM notes; DROP TABLE owners; PRAGMA user_version = 4;
      UPDATE key_slots SET wrapped = zeroblob(length(wrapped)) WHERE kind = 'master'
      """)
    try fixture.expectRefusal("set back", masterKey: Self.otherMaster, recoveryKey: key)
  }

  /// A recovery key of 0.1.0 does not say that rows are guarded, so deleted rows do not show.
  @Test("a database of an earlier schema that the recovery key opens begins locked")
  func earlierSchema() async throws {
    try await create()
    let database = try DatabaseQueue(path: fixture.path)
    try await database.write { [key] db in
      let opened = try #require(
        try KeySlot.master.open(with: SymmetricKey(data: StoreFixture.masterKey), in: db))
      try KeySlot.recovery.put(
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

  @Test("where the master key is another one it opens, and the new one opens from then on")
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

  @Test("it is not asked for where the master key opens")
  func notAsked() async throws {
    try await create()
    let before = try slots()
    let store = try Store.open(
      path: fixture.path, masterKey: StoreFixture.masterKey,
      recoveryKey: { () throws(UsherError) in
        Issue.record("asked")
        return nil
      },
      keep: { PlainKey(bytes: Array($0)) }, clock: FixedClock(time: StoreFixture.now),
      entropy: SystemEntropy())
    try store.close()
    #expect(try slots() == before)
  }

  @Test("another recovery key opens nothing, and none where there is none")
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

  @Test("a slot that was moved to another kind, or changed, does not open")
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

  @Test("one is not replaced unless that is meant; then the old one opens nothing")
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

  @Test("whether it opens can be asked without the master key, and changes nothing")
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

  @Test("a database that was killed with its log is recovered with what is in the log")
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
