import Crypto
import GRDB
import Synchronization
package import UsherCore

// The key besides the master key that opens the store.
extension Store {
  /// Whether there is a recovery key. It never waits for a writer.
  package var hasRecoveryKey: Bool { hasRecoverySlot.withLock { $0 } }

  /// Wraps the data key by a recovery key; the one before opens the database no more.
  ///
  /// Copies that were made earlier keep the recovery key they had.
  ///
  /// - Throws: `conflict` where there is one that is not to be replaced; `storage_unavailable` as
  ///   ``commit(_:)``.
  package func setRecoveryKey(
    _ key: RecoveryKey, replacing: Bool
  ) async throws(UsherError) {
    try checkOpen()
    let (sealer, now) = (sealer, writer.clock.now())
    let put: GroupCommit.Operation = { db in
      guard try replacing || !KeySlot.recovery.exists(in: db) else {
        throw UsherError(.conflict, "there is a recovery key already")
      }
      try sealer.wrap(into: .recovery, by: SymmetricKey(data: key.bytes), at: now, in: db)
    }
    try await commits.commit([RowSets.guarding(KeySlot.recovery.row, by: sealer, put)])
    hasRecoverySlot.withLock { $0 = true }
  }

  /// Whether the recovery key opens the database, which is only read. Blocks; for start-up.
  ///
  /// - Throws: `storage_unavailable` for what is no database of ours, or cannot be read.
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
