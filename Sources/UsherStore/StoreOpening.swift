import CSQLite
import Crypto
import FoundationEssentials
import GRDB
import Glibc
import UsherCore

/// Opens or creates the database at a path. Checks that it is a database of usherd, undamaged and
/// of a known schema, and that the master key or the recovery key opens it.
///
/// Nothing is written to an existing file until all checks have succeeded.
struct StoreOpening {
  /// The file size in bytes above which opening does not check all pages of the database. Each row
  /// is still checked when it is decrypted.
  private static let maxCheckedBytes: Int64 = 64 << 20

  let file: StoreFile
  let masterKey: SymmetricKey
  /// Whether to accept a database whose rows were changed by something other than usherd.
  let acceptsChanges: Bool
  let clock: any UsherCore.Clock
  let entropy: any Entropy

  struct OpenDatabase {
    /// The only connection that writes.
    let database: DatabaseQueue
    /// A read-only connection, whose reads do not wait for the writing one.
    let reader: DatabaseQueue
    let keys: Keys
  }

  struct Keys {
    let dataKey: SymmetricKey
    /// Whether the recovery key opened the database, because the master key did not.
    let isRecovered: Bool
    let hasRecoverySlot: Bool
    /// The tables that something other than usherd changed, if the changes are accepted.
    let changedTables: [String]
    /// Whether missing rows cannot be detected: the schema is too old for row sets (``RowSets``),
    /// and only the recovery key opened the database.
    let hasUnverifiableRows: Bool
  }

  typealias RecoveryKeySource = () throws(UsherError) -> RecoveryKey?

  /// Opens the database, or creates it if there is no file.
  ///
  /// - Parameter recoveryKey: Called if the master key does not open the database.
  func open(orBy recoveryKey: RecoveryKeySource) throws(UsherError) -> OpenDatabase {
    do {
      switch try file.presence() {
      case .absent: try create()
      case .database: try file.syncLeftovers()
      }
      let keys = try inspect(orBy: recoveryKey)
      try file.makePrivate()
      let database = try connect(keys)
      // The read-only connection is opened last, because it cannot create the write-ahead log.
      let reader = try DatabaseQueue(
        path: file.path, configuration: Self.configuration(readonly: true))
      return OpenDatabase(database: database, reader: reader, keys: keys)
    } catch let error as DatabaseError {
      let reason = UsherError.storage(error)
      throw file.refusal("cannot be used: \(reason.message)", cause: reason.cause)
    } catch {
      throw .storage(error)
    }
  }

  /// Creates a complete database under another name and then renames it, so that a crash never
  /// leaves an incomplete database at its path.
  private func create() throws {
    let draft = file.path + ".new"
    removeDraft(draft)
    let descriptor = Glibc.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw file.fault("open", "cannot be created") }
    close(descriptor)
    do {
      try fill(draft)
      guard rename(draft, file.path) == 0 else { throw file.fault("rename", "cannot be created") }
    } catch {
      removeDraft(draft)
      throw error
    }
    try file.syncDirectory()
  }

  private func fill(_ draft: String) throws {
    let database = try DatabaseQueue(path: draft, configuration: Self.configuration())
    try database.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)")
      let dataKey = SymmetricKey(data: entropy.bytes(32))
      try StoreSchema.migrate(db) { try complete($0, from: $1, dataKey) }
      try db.execute(sql: "PRAGMA journal_mode = WAL")
    }
    try database.close()
  }

  /// Writes the rows that a new database, or a database of an earlier schema, does not have yet.
  ///
  /// - Parameter earlier: The schema version of the database before the migration; 0 for a new one.
  private func complete(
    _ db: Database, from earlier: Int, _ dataKey: SymmetricKey
  ) throws {
    let sealer = try sealer(dataKey)
    if earlier < StoreSchema.firstWithAudit {
      try AuditHead(begunAt: clock.now()).write(by: sealer)(db)
    }
    guard earlier < StoreSchema.firstWithRowSets else { return }
    try Store.beginUnlocked(in: db, by: sealer, at: clock.now())
    // The form of the key slot states that the database has row sets, so it is detected if
    // something sets the schema version back to one without row sets.
    try KeySlot.master.store(
      dataKey, under: masterKey, at: clock.now(), entropy: entropy, into: db)
    try RowSets(of: db, by: sealer).write(to: db, by: sealer)
  }

  private func sealer(_ dataKey: SymmetricKey) throws -> Sealer {
    try Sealer(
      dataKey: dataKey, keyStorage: { TransientKey(key: SymmetricKey(data: $0)) }, entropy: entropy)
  }

  private func removeDraft(_ draft: String) {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(draft + suffix) }
  }

  /// Checks the database through a read-only connection, and decrypts its data key.
  private func inspect(orBy recoveryKey: RecoveryKeySource) throws -> Keys {
    let database = try DatabaseQueue(
      path: file.path, configuration: Self.configuration(readonly: true))
    defer { try? database.close() }
    return try database.read { db in
      let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
      try file.checkVersion(version)
      if file.size <= Self.maxCheckedBytes { try checkIntegrity("quick_check(1)", in: db) }
      let schema = try SchemaListing(of: db)
      try check(schema, version)
      try checkIndexes(in: db, schema)
      guard try KeySlot.master.exists(in: db) else {
        throw file.refusal("has no key slot of kind master; restore a backup: usherctl restore")
      }
      let hasRecoverySlot = try KeySlot.recovery.exists(in: db)
      let byMasterKey = try KeySlot.master.open(with: masterKey, in: db)
      let (dataKey, hasRowSets) =
        try byMasterKey ?? recover(by: recoveryKey, hasSlot: hasRecoverySlot, in: db)
      guard version >= StoreSchema.firstWithRowSets || !hasRowSets else {
        throw file.refusal(
          "has schema \(version), but had a newer one: something other than usherd set it back; "
            + "restore a backup: usherctl restore")
      }
      return Keys(
        dataKey: dataKey, isRecovered: byMasterKey == nil, hasRecoverySlot: hasRecoverySlot,
        changedTables: try changedTables(in: db, version, dataKey),
        hasUnverifiableRows: byMasterKey == nil && version < StoreSchema.firstWithRowSets)
    }
  }

  /// Checks the indexes of the guarded tables. If a row is missing from an index, a change does not
  /// find the row, but the next start, which reads the whole table, does. The digest of the table
  /// would then be wrong.
  private func checkIndexes(in db: Database, _ schema: SchemaListing) throws {
    for table in GuardedTable.allCases.map(\.rawValue) where schema.hasTable(table) {
      try checkIntegrity("integrity_check('\(table)')", in: db)
    }
  }

  /// Throws if an integrity check of SQLite finds damage.
  ///
  /// - Parameter pragma: The check, which returns `ok` or the first damage.
  private func checkIntegrity(_ pragma: String, in db: Database) throws {
    let finding = try String.fetchOne(db, sql: "PRAGMA \(pragma)")
    guard finding == "ok" else {
      throw file.refusal(
        "is damaged; it was left as it is", cause: SQLiteError(code: 11, message: finding))
    }
  }

  private func check(_ schema: SchemaListing, _ version: Int) throws {
    guard let object = try schema.foreignObject(version: version) else { return }
    throw file.refusal(
      "was changed by something other than usherd: the \(object.type) \"\(object.name)\" differs "
        + "from the one that usherd creates; restore a backup: usherctl restore")
  }

  /// Returns the tables in which something other than usherd deleted, added or replaced rows.
  ///
  /// - Throws: `storage_unavailable` with these names, unless ``acceptsChanges`` is true.
  private func changedTables(
    in db: Database, _ version: Int, _ dataKey: SymmetricKey
  ) throws -> [String] {
    guard version >= StoreSchema.firstWithRowSets else { return [] }
    let sealer = try sealer(dataKey)
    let written = try? RowSets.stored(in: db, by: sealer)
    let found = try RowSets(of: db, by: sealer)
    let tables = found.tables(otherThanIn: written ?? RowSets())
    guard !acceptsChanges else { return tables }
    guard written != nil, tables.isEmpty else {
      let names = written == nil ? "notes" : tables.joined(separator: ", ")
      throw file.refusal(
        "was changed by something other than usherd: rows of \(names) are missing, older or not "
          + "usherd's; it was left as it is; restore a backup (usherctl restore), or inspect the "
          + "file and accept it as it is (usherctl recover --accept-changes)")
    }
    return []
  }

  private func recover(
    by recoveryKey: RecoveryKeySource, hasSlot: Bool, in db: Database
  ) throws -> KeySlot.UnlockedKey {
    let foreign = "was sealed under another master key"
    guard hasSlot else {
      throw file.refusal("\(foreign), and has no recovery key; it was left as it is")
    }
    guard let key = try recoveryKey() else {
      throw file.refusal(
        "\(foreign); it was left as it is; to open it with its recovery key, run: usherctl recover")
    }
    guard let opened = try KeySlot.recovery.open(with: SymmetricKey(data: key.bytes), in: db)
    else { throw file.refusal("\(foreign) and another recovery key; it was left as it is") }
    return opened
  }

  private func connect(_ keys: Keys) throws -> DatabaseQueue {
    let database = try DatabaseQueue(path: file.path, configuration: Self.configuration())
    try database.writeWithoutTransaction { db in
      // If SQLite cannot open a file for writing, for example for lack of descriptors, it opens the
      // file for reading. Neither opening the connection nor BEGIN IMMEDIATE fails then.
      let connection = db.sqliteConnection.map(UnsafeMutableRawPointer.init)
      guard usher_sqlite_is_readonly(connection) == 0 else {
        throw file.refusal(
          "can be opened for reading only; check its permissions and LimitNOFILE=, then try again")
      }
      try StoreSchema.migrate(db) { try complete($0, from: $1, keys.dataKey) }
      let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
      // `synchronous` is set last and read back, because GRDB lowers it when GRDB itself enables
      // the write-ahead log.
      try db.execute(sql: "PRAGMA synchronous = FULL")
      let synchronous = try Int.fetchOne(db, sql: "PRAGMA synchronous")
      guard mode == "wal", synchronous == 2 else {
        throw file.refusal("does not promise durable writes on this file system")
      }
      // If the write-ahead log can be opened for reading only, the first transaction reports it.
      try db.inTransaction(.immediate) {
        guard keys.isRecovered || !keys.changedTables.isEmpty else { return .commit }
        if keys.isRecovered {
          try KeySlot.master.store(
            keys.dataKey, under: masterKey, at: clock.now(), entropy: entropy, into: db)
        }
        // Rows that were accepted or cannot be checked may be forged, so the daemon starts locked
        // and an operator has to unlock it.
        if !keys.changedTables.isEmpty || keys.hasUnverifiableRows { try Store.beginLocked(in: db) }
        let sealer = try sealer(keys.dataKey)
        try RowSets(of: db, by: sealer).write(to: db, by: sealer)
        return .commit
      }
    }
    return database
  }

  static func configuration(readonly: Bool = false) -> Configuration {
    var configuration = Configuration()
    configuration.label = "usher.store"
    configuration.readonly = readonly
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { db in
      let result = usher_sqlite_harden(db.sqliteConnection.map(UnsafeMutableRawPointer.init))
      guard result == 0 else { throw DatabaseError(resultCode: ResultCode(rawValue: result)) }
      try db.execute(
        sql: """
          PRAGMA secure_delete = ON;
          PRAGMA journal_size_limit = 4194304;
          PRAGMA temp_store = MEMORY;
          PRAGMA trusted_schema = OFF;
          PRAGMA cell_size_check = ON;
          """)
    }
    return configuration
  }
}

/// A key for opening the database only. Swift Crypto wipes it when it is released.
private struct TransientKey: HeldKey {
  let key: SymmetricKey

  func withUnsafeBytes<Value, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let outcome = key.withUnsafeBytes { bytes in
      Result { () throws(Failure) in try body(bytes) }
    }
    return try outcome.get()
  }
}
