import Crypto
package import FoundationEssentials
import GRDB
import Synchronization
package import UsherCore

/// The database of the daemon: flows with their journal, remembered requests, accounts, tokens,
/// consents, local authentication records, confirmations, credentials, owners, notes and the audit
/// log.
///
/// SQLite in WAL mode with `synchronous=FULL`. Secrets are encrypted row by row (``Sealer``) under
/// a data key, which is encrypted with the master key (``KeySlot``). Only one process at a time can
/// open a database.
package final class Store: Sendable {
  package let audit: AuditLog
  /// Whether the recovery key opened the database, because the master key did not. Opening has then
  /// encrypted the data key with the current master key.
  package let wasRecovered: Bool
  /// The tables that something other than usherd had changed and whose content was accepted.
  package let acceptedTables: [String]
  /// Whether missing rows could not be detected: the schema was too old for row sets (``RowSets``),
  /// and only the recovery key opened the database. The daemon then starts locked.
  package let hasUnverifiableRows: Bool
  /// The only connection that writes to the database.
  let database: DatabaseQueue
  /// A read-only connection, whose reads do not wait for a transaction of ``database``.
  let reader: DatabaseQueue
  let sealer: Sealer
  let file: StoreFile
  let writer: ChangeWriter
  let commits: GroupCommit
  let blocking: any BlockingPool
  let reserve: SpaceReserve
  let hasRecoverySlot: Mutex<Bool>
  /// The connection through which ``copy(to:)`` reads at present; nil if no copy is made.
  let copying = Mutex<DatabaseQueue?>(nil)
  private let lock: StoreLock
  private let isClosed = Mutex(false)
  private let ownerCheck = Mutex<OwnerCheckBox?>(nil)

  /// Opens the database, or creates it if there is no file. Blocks; called at start-up only.
  ///
  /// - Parameters:
  ///   - path: The database file. Its directory must exist; files with the suffixes `-wal`, `-shm`
  ///     and `.lock` are created beside it.
  ///   - masterKey: At least 32 random bytes. The store does not keep them.
  ///   - recoveryKey: Called only if there is a database and the master key does not open it. If
  ///     the recovery key opens it, the data key is encrypted with the master key; nothing else
  ///     changes.
  ///   - acceptsChanges: Whether to accept tables that something other than usherd changed. The
  ///     daemon then starts locked.
  ///   - keyStorage: Stores the data key, and the key that is derived from it, in memory.
  ///   - blocking: Runs commits, reads of the audit log and copies, which wait for the disk.
  ///   - executor: Runs the tasks that write; nil: Swift's global executor.
  /// - Throws: `storage_unavailable` with a sentence that names the file if the file is damaged, is
  ///   another program's, has a newer schema, was changed by something other than usherd, is
  ///   encrypted under another key, is in use, or is not accessible. The file is then unchanged.
  ///   Also throws the errors of `recoveryKey`.
  package static func open(
    path: String, masterKey: some ContiguousBytes,
    recoveryKey: () throws(UsherError) -> RecoveryKey? = { () throws(UsherError) in nil },
    acceptsChanges: Bool = false, keyStorage: @escaping KeyStorage, clock: any UsherCore.Clock,
    entropy: any Entropy, blocking: any BlockingPool, executor: (any TaskExecutor)? = nil
  ) throws(UsherError) -> Store {
    let key = SymmetricKey(data: masterKey)
    guard key.bitCount >= 256 else {
      throw UsherError(
        .storageUnavailable, "the master key has \(key.bitCount / 8) bytes, at least 32 are needed")
    }
    let file = StoreFile(path: path)
    let lock = try StoreLock(of: file)
    let opening = StoreOpening(
      file: file, masterKey: key, acceptsChanges: acceptsChanges, clock: clock, entropy: entropy)
    let opened = try opening.open(orBy: recoveryKey)
    let sealer: Sealer
    do {
      sealer = try Sealer(dataKey: opened.keys.dataKey, keyStorage: keyStorage, entropy: entropy)
    } catch {
      throw UsherError(
        .storageUnavailable, "cannot allocate locked memory for the data key", cause: error)
    }
    return try Store(
      file: file, lock: lock, opened, writer: ChangeWriter(sealer: sealer, clock: clock),
      blocking: blocking, on: executor)
  }

  private init(
    file: StoreFile, lock: StoreLock, _ opened: StoreOpening.OpenDatabase, writer: ChangeWriter,
    blocking: any BlockingPool, on executor: (any TaskExecutor)?
  ) throws(UsherError) {
    self.file = file
    self.lock = lock
    database = opened.database
    reader = opened.reader
    wasRecovered = opened.keys.isRecovered
    acceptedTables = opened.keys.changedTables
    hasUnverifiableRows = opened.keys.hasUnverifiableRows
    hasRecoverySlot = Mutex(opened.keys.hasRecoverySlot)
    self.writer = writer
    sealer = writer.sealer
    self.blocking = blocking
    commits = GroupCommit(database, blocking: blocking, on: executor)
    reserve = SpaceReserve(of: file)
    do {
      audit = try AuditLog(
        database, blocking: blocking, sealer: sealer, commits: commits, at: writer.clock.now())
    } catch {
      throw .storage(error)
    }
  }

  deinit { try? close() }

  /// Returns an identifier of this installation of usherd for an owner's flows at a provider.
  ///
  /// The identifier is derived from the random data key. So it stays the same as long as the
  /// database and its backups exist, differs between owners, and reveals nothing about the machine.
  package func installationID(of owner: Owner, provider: ProviderName) -> String {
    sealer.installationID(of: owner, provider: provider)
  }

  /// Returns a tag by which a credential's value can be recognized without storing the value: the
  /// HMAC-SHA256 of name and value under a key of the database.
  package func tag(ofCredential value: Secret, named name: String) -> Data {
    sealer.tag(ofCredential: value, named: name)
  }

  /// Returns the tag by which a callback from a provider finds the accounts that it may concern:
  /// the HMAC-SHA256 of the callback's key under a key of the database.
  package func tag(ofCallKey key: String, at provider: ProviderName) -> Data {
    sealer.tag(ofCallKey: key, at: provider)
  }

  /// Writes changes in the given order, all or none; returns when they are on disk.
  ///
  /// Commits of concurrent callers share a transaction and may be written in any order, so await
  /// one commit of a flow before the next. Cancelling the task does not undo the commit.
  ///
  /// - Throws: `request_id_reused` or `conflict` with a ``Conflict`` as cause; `not_found` if the
  ///   flow or account of a change is not stored; `storage_unavailable` if the disk is full,
  ///   read-only or failing. The changes are then not made, and a later call may succeed. One
  ///   exception: if the disk sync failed and the machine crashes before the next commit, the
  ///   changes may be in the database afterwards.
  package func commit(_ changes: [Change]) async throws(UsherError) {
    try checkOpen()
    guard !changes.isEmpty else { return }
    if let held = ownerCheck.withLock({ $0 }) {
      for owner in changes.owners { try held.check(owner) }
    }
    let unit: [GroupCommit.Operation]
    do {
      unit = try changes.map(writer.operation)
    } catch {
      throw .storage(error)
    }
    try await commits.commit(unit)
  }

  /// Throws if no object of the owner may be stored, for instance after `owner.forget`.
  package typealias OwnerCheck = @Sendable (Owner) throws(UsherError) -> Void

  /// A structure around the closure. If a `Mutex` contains a bare closure, each read adds another
  /// wrapper function, so that calls get slower and finally overflow the stack.
  private struct OwnerCheckBox {
    let check: OwnerCheck
  }

  /// Installs a check of the owners of new objects in later commits. If `check` throws for an
  /// owner, the commit throws the same error.
  package func checkOwners(by check: @escaping OwnerCheck) {
    ownerCheck.withLock { $0 = OwnerCheckBox(check: check) }
  }

  /// Reserves disk space for ``commitFromReserve(_:)``. Blocks briefly unless the space is already
  /// reserved.
  ///
  /// - Throws: `storage_unavailable` if the disk has too little free space.
  package func allocateReserve() throws(UsherError) {
    try checkOpen()
    try reserve.allocate()
  }

  /// Commits changes that must not be lost, such as a rotated refresh token. If ``commit(_:)``
  /// fails with `storage_unavailable`, the reserved disk space is freed and the commit is repeated.
  package func commitFromReserve(_ changes: [Change]) async throws(UsherError) {
    do throws(UsherError) {
      try await commit(changes)
    } catch {
      guard error.reason == .storageUnavailable, reserve.release() else { throw error }
      try await commit(changes)
    }
  }

  /// Closes the store and releases its lock file. Empties the write-ahead log, so that no deleted
  /// data remains in it.
  ///
  /// Waits for the transaction and the reads in progress. Commits and reads that have not begun
  /// fail, and a copy in progress fails too. Closing a closed store does nothing. The store is
  /// closed even if this method throws.
  package func close() throws(UsherError) {
    guard !isClosed.withLock({ exchange(&$0, with: true) }) else { return }
    defer { lock.release() }
    copying.withLock { $0?.interrupt() }
    let closed = Result { try reader.close() }
    let emptied = Result { try database.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
    do {
      try database.close()
      _ = try emptied.get()
      try closed.get()
    } catch {
      throw .storage(error)
    }
  }

  func checkOpen() throws(UsherError) {
    guard !isClosed.withLock({ $0 }) else {
      throw UsherError(.storageUnavailable, "the store is closed")
    }
  }
}

extension Store {
  /// The properties of the store that the RPC method `system.status` reports.
  package struct Status: Sendable, Equatable {
    package let path: String
    package let schemaVersion: Int
    /// The size of the database and its write-ahead log, in bytes.
    package let sizeBytes: Int64
  }

  /// The current status. Reads only the sizes of the files, and never waits for a transaction.
  package var status: Status {
    Status(path: file.path, schemaVersion: StoreSchema.version, sizeBytes: file.size)
  }
}
