import UsherCore
import UsherStore
import UsherSystem

/// An open store from which no services have been restored yet.
struct StoreBootstrap {
  /// The name of the systemd credential with which `usherctl recover --accept-changes` makes the
  /// daemon accept a database that something other than usherd changed.
  static let acceptingChanges = "usherd.accept-changes"

  /// The name of the systemd credential with the recovery key.
  static let recoveryKey = "usherd.recovery-key"

  let store: Store
  let keyOrigin: MasterKey.Origin

  /// Opens the store with the master key, which is not kept in memory, or else with the recovery
  /// key if systemd passes one. Blocks.
  ///
  /// - Parameter isNew: Whether the database may be missing and is then created.
  /// - Throws: An error with a message for the operator.
  init(_ setting: DaemonSetting, mayBeNew isNew: Bool) throws(UsherError) {
    // A key is never created for an existing database, nor a database for an existing key, because
    // that would hide the loss of the other.
    guard isNew || setting.hasDatabase else {
      throw UsherError(
        .storageUnavailable,
        "the database \(setting.databasePath) no longer exists; restore a backup: usherctl restore")
    }
    guard setting.hasDatabase || !setting.isBeingRestored else {
      throw UsherError(
        .storageUnavailable,
        "a restore of the database \(setting.databasePath) was interrupted; run "
          + "usherctl restore again"
      )
    }
    do {
      let key = try setting.disk.masterKey(
        MasterKeySource(credentials: setting.credentials), setting.stateDirectory
      ) { try !setting.hasDatabase || setting.recoveryKeyOpensDatabase }
      keyOrigin = key.origin
      store = try key.bytes.withUnsafeBytes { bytes throws(UsherError) in
        try setting.disk.openStore(
          StoreAccess(
            path: setting.databasePath, masterKey: bytes, recoveryKey: setting.recoveryKey,
            acceptsChanges: try setting.credential(named: Self.acceptingChanges) != nil,
            clock: setting.clock, entropy: setting.entropy, blocking: setting.blocking,
            executor: setting.executor))
      }
    } catch let error as UsherError {
      throw error
    } catch {
      throw UsherError(.storageUnavailable, "the master key cannot be read", cause: error)
    }
  }
}

extension DaemonSetting {
  /// Returns the recovery key that systemd passes as a credential for `usherctl recover` and
  /// `usherctl restore`; nil if there is none.
  ///
  /// - Throws: `storageUnavailable` if the credential is not a recovery key.
  fileprivate func recoveryKey() throws(UsherError) -> RecoveryKey? {
    guard let text = try credential(named: StoreBootstrap.recoveryKey) else { return nil }
    do throws(RecoveryKey.Mistake) {
      return try RecoveryKey(text)
    } catch {
      throw UsherError(.storageUnavailable, "the recovery key \(error)")
    }
  }

  /// Whether a missing master key may be created although the database exists: only if the recovery
  /// key opens the database.
  fileprivate var recoveryKeyOpensDatabase: Bool {
    get throws(UsherError) {
      try recoveryKey().map { key throws(UsherError) in
        try disk.isOpened(databasePath, key)
      } ?? false
    }
  }

  fileprivate func credential(named name: String) throws(UsherError) -> Secret? {
    do {
      return try credentials.flatMap { try disk.credential(name, $0) }
    } catch {
      throw UsherError(.storageUnavailable, "the credential \(name) cannot be read", cause: error)
    }
  }
}
