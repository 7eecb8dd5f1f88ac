import Crypto
import GRDB
import Synchronization
package import UsherCore

// The recovery key, which opens the database if the master key is lost.
extension Store {
  /// Whether the database has a recovery key. Never waits for a transaction.
  package var hasRecoveryKey: Bool { hasRecoverySlot.withLock { $0 } }

  /// Encrypts the data key with a new recovery key. Replaces the earlier recovery key, if any.
  ///
  /// Copies of the database that were made before keep their own recovery key.
  ///
  /// - Throws: `conflict` if there is a recovery key and `replacing` is false;
  ///   `storage_unavailable` as ``commit(_:)``.
  package func setRecoveryKey(
    _ key: RecoveryKey, replacing: Bool
  ) async throws(UsherError) {
    try checkOpen()
    let (sealer, now) = (sealer, writer.clock.now())
    let write: GroupCommit.Operation = { db in
      guard try replacing || !KeySlot.recovery.exists(in: db) else {
        throw UsherError(
          .conflict,
          "a recovery key already exists; to replace it, run: usherctl setup --new-recovery-key")
      }
      try sealer.wrap(into: .recovery, by: SymmetricKey(data: key.bytes), at: now, in: db)
    }
    try await commits.commit([RowSets.guarding(KeySlot.recovery.row, by: sealer, write)])
    hasRecoverySlot.withLock { $0 = true }
  }

  /// Returns whether a recovery key opens a database; false if there is no database file. Does not
  /// write to the file. Blocks; called at start-up only.
  ///
  /// - Throws: `storage_unavailable` if the file is not a database of usherd or cannot be read.
  package static func isOpened(
    at path: String, by key: RecoveryKey
  ) throws(UsherError) -> Bool {
    let file = StoreFile(path: path)
    guard case .database = try file.presence() else { return false }
    do {
      let database = try DatabaseQueue(
        path: path, configuration: StoreOpening.configuration(readonly: true))
      defer { try? database.close() }
      return try database.read { db in
        guard try KeySlot.recovery.exists(in: db) else { return false }
        return try KeySlot.recovery.open(with: SymmetricKey(data: key.bytes), in: db) != nil
      }
    } catch {
      throw .storage(error)
    }
  }
}
