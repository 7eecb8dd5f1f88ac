import Crypto
package import FoundationEssentials
import GRDB
import Synchronization
package import UsherCore

/// What must survive: flows, their journal, remembered requests, accounts, tokens, consents, the
/// local authenticator's own, confirmations, credentials, and the audit.
///
/// SQLite in WAL mode with `synchronous=FULL`, its secrets sealed row by row (``Sealer``) under a
/// data key that the master key unwraps (``KeySlot``). One process at a time may use it.
package final class Store: Sendable {
  package let audit: AuditLog
  /// Whether the master key did not open it and the recovery key did: the data key is wrapped by
  /// that master key now.
  package let wasRecovered: Bool
  /// The tables that something other than usherd had changed, and that were accepted as they are.
  package let acceptedTables: [String]
  /// Whether it was of a schema whose deleted rows do not show and only the recovery key opened it: it
  /// begins locked.
  package let wasUnproven: Bool
  let database: DatabaseQueue
  /// Reads what is needed while another connection writes.
  let reader: DatabaseQueue
  let sealer: Sealer
  let file: StoreFile
  let writer: ChangeWriter
  let commits: GroupCommit
  let reserve: SpaceReserve
  let hasRecoverySlot: Mutex<Bool>
  /// What a copy is being made through.
  let copying = Mutex<DatabaseQueue?>(nil)
  private let lock: StoreLock
  private let isClosed = Mutex(false)
  private let ownerCheck = Mutex<HeldCheck?>(nil)

  /// Opens the database, or creates it where there is nothing. Blocks; for start-up.
  ///
  /// - Parameters:
  ///   - path: The file. Its directory must exist; `-wal`, `-shm`, `.lock` are made beside it.
  ///   - masterKey: At least 32 bytes that cannot be guessed. Not kept.
  ///   - recoveryKey: Asked only where there is a database that the master key does not open. It
  ///     then opens it, and the data key is wrapped by the master key; nothing else changes.
  ///   - acceptsChanges: Whether tables that something other than usherd changed are taken as they
  ///     are; the daemon is locked then.
  ///   - keep: Where the data key and what is derived from it for good are kept.
  ///   - executor: Runs the tasks that write; nil: Swift's global executor.
  /// - Throws: `storage_unavailable` with a sentence that names the file, which is then as it was:
  ///   damaged, another program's, of a newer schema, changed by something other than usherd, under
  ///   another key, in use, not permitted.
  ///   What `recoveryKey` throws.
  package static func open(
    path: String, masterKey: some ContiguousBytes,
    recoveryKey: () throws(UsherError) -> RecoveryKey? = { () throws(UsherError) in nil },
    acceptsChanges: Bool = false, keep: @escaping KeyKeeper, clock: any UsherCore.Clock,
    entropy: any Entropy, executor: (any TaskExecutor)? = nil
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
      sealer = try Sealer(dataKey: opened.keys.dataKey, keep: keep, entropy: entropy)
    } catch {
      throw UsherError(.storageUnavailable, "there is no memory for the data key", cause: error)
    }
    return try Store(
      file: file, lock: lock, opened, writer: ChangeWriter(sealer: sealer, clock: clock),
      on: executor)
  }

  private init(
    file: StoreFile, lock: StoreLock, _ opened: StoreOpening.OpenDatabase, writer: ChangeWriter,
    on executor: (any TaskExecutor)?
  ) throws(UsherError) {
    self.file = file
    self.lock = lock
    database = opened.database
    reader = opened.reader
    wasRecovered = opened.keys.isRecovered
    acceptedTables = opened.keys.changedTables
    wasUnproven = opened.keys.isUnproven
    hasRecoverySlot = Mutex(opened.keys.hasRecoverySlot)
    self.writer = writer
    sealer = writer.sealer
    commits = GroupCommit(database, on: executor)
    reserve = SpaceReserve(of: file)
    do {
      audit = try AuditLog(database, sealer: sealer, commits: commits, at: writer.clock.now())
    } catch {
      throw .storage(error)
    }
  }

  deinit { try? close() }

  /// What one owner's flows at a provider call this installation.
  ///
  /// It is derived from the database's data key, which is random: it lives as long as the database
  /// and its backups, differs from owner to owner, and tells nothing about the machine.
  package func installationID(of owner: Owner, provider: ProviderName) -> String {
    sealer.installationID(of: owner, provider: provider)
  }

  /// By what a credential's value can be known again without being kept: HMAC-SHA256 of it and its
  /// name, by a key of the database's own.
  package func tag(ofCredential value: Secret, named name: String) -> Data {
    sealer.tag(ofCredential: value, named: name)
  }

  /// By what the accounts are found that a provider's call may be about: HMAC-SHA256 of what the call
  /// is known by, under a key of the database's own.
  package func tag(ofCallKey key: String, at provider: ProviderName) -> Data {
    sealer.tag(ofCallKey: key, at: provider)
  }

  /// Writes the changes, all or none, in their order; returns once they are on disk.
  ///
  /// Changes of concurrent callers share a transaction and may be written in any order: await a
  /// flow's commit before the next one of that flow. Cancelling the task takes nothing back.
  ///
  /// - Throws: `request_id_reused` or `conflict` with a ``Conflict`` as cause; `not_found` for
  ///   what belongs to a deleted flow or account; `storage_unavailable` when the disk is full,
  ///   read-only or failing: then they do not stand, and a later call may succeed. Only when the
  ///   sync itself failed and the machine dies before the next commit may they be found again.
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

  /// Throws where an owner may not come to own anything.
  package typealias OwnerCheck = @Sendable (Owner) throws(UsherError) -> Void

  /// A closure in a structure. A bare one in a `Mutex` is wrapped in one more function by each read, so
  /// that calling it takes ever longer and overflows the stack at last.
  private struct HeldCheck {
    let check: OwnerCheck
  }

  /// From now on nothing is stored for an owner for whom `check` throws; the commit throws the same.
  package func checkOwners(by check: @escaping OwnerCheck) {
    ownerCheck.withLock { $0 = HeldCheck(check: check) }
  }

  /// Reserves disk space for ``commitFromReserve(_:)``. Blocks a moment when it is not reserved yet.
  ///
  /// - Throws: `storage_unavailable` where there is no room.
  package func holdReserve() throws(UsherError) {
    try checkOpen()
    try reserve.hold()
  }

  /// As ``commit(_:)``, for what must not be lost: where the disk is full, the space that was reserved
  /// is given up for it.
  package func commitFromReserve(_ changes: [Change]) async throws(UsherError) {
    do throws(UsherError) {
      try await commit(changes)
    } catch {
      guard error.reason == .storageUnavailable, reserve.release() else { throw error }
      try await commit(changes)
    }
  }

  /// Empties the write-ahead log, so that nothing deleted lingers there, and lets others open.
  ///
  /// Waits for the transaction being written and for what is being read; commits and reads that have
  /// not begun then fail, and so does a copy that is being made. Closing twice does nothing. The store
  /// is closed even when this throws.
  package func close() throws(UsherError) {
    let wasClosed = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return isClosed
    }
    guard !wasClosed else { return }
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
  /// What `system.status` tells of the store.
  package struct Status: Sendable, Equatable {
    package let path: String
    package let schemaVersion: Int
    /// Bytes of the database and its write-ahead log.
    package let sizeBytes: Int64
  }

  /// Looks at the files' sizes only: it never waits for a writer.
  package var status: Status {
    Status(path: file.path, schemaVersion: Schema.version, sizeBytes: file.size)
  }
}
