import UsherCore
import UsherStore
import UsherSystem

/// Open store from which nothing has been restored yet.
struct StoreBootstrap {
  /// The credential with which `usherctl recover --accept-changes` lets a modified database be
  /// accepted.
  static let acceptingChanges = "usherd.accept-changes"

  let store: Store
  let keyOrigin: MasterKey.Origin

  /// Opens the store with the master key, which is not kept, or else with the recovery key if there
  /// is one. Blocks.
  ///
  /// - Parameter isNew: Whether the database may be missing and is then created.
  /// - Throws: An error with a message for the operator.
  init(_ setting: DaemonSetting, mayBeNew isNew: Bool) throws(UsherError) {
    // Never create a key for an existing database, or a database for an existing key: that would
    // hide the loss.
    guard isNew || setting.hasDatabase else {
      throw UsherError(
        .storageUnavailable, "the database \(setting.databasePath) no longer exists")
    }
    guard setting.hasDatabase || !setting.isBeingRestored else {
      throw UsherError(
        .storageUnavailable,
        "a restore of the database \(setting.databasePath) was interrupted; run "
          + "usherctl restore again"
      )
    }
    let recovery = RecoveryKeySource(credentials: setting.credentials, disk: setting.disk)
    do {
      let key = try setting.disk.masterKey(
        MasterKeySource(credentials: setting.credentials), in: setting.stateDirectory
      ) {
        try !setting.hasDatabase || Self.opens(setting.databasePath, recovery, on: setting.disk)
      }
      keyOrigin = key.origin
      store = try key.bytes.withUnsafeBytes { bytes throws(UsherError) in
        try setting.disk.openStore(
          StoreAccess(
            path: setting.databasePath, masterKey: bytes, recoveryKey: recovery.load,
            acceptsChanges: try Self.acceptsChanges(setting), clock: setting.clock,
            entropy: setting.entropy, executor: setting.executor))
      }
    } catch let error as UsherError {
      throw error
    } catch {
      throw UsherError(.storageUnavailable, "the master key cannot be read", cause: error)
    }
  }

  /// Returns whether a missing master key may be created again: only if the recovery key opens the
  /// database.
  private static func opens(
    _ database: String, _ recovery: RecoveryKeySource, on disk: any Disk
  ) throws(UsherError) -> Bool {
    guard let key = try recovery.load() else { return false }
    return try disk.isOpened(database, by: key)
  }

  private static func acceptsChanges(
    _ setting: DaemonSetting
  ) throws(UsherError) -> Bool {
    do {
      return try setting.credentials.flatMap {
        try setting.disk.credential(named: acceptingChanges, in: $0)
      } != nil
    } catch {
      throw UsherError(
        .storageUnavailable, "the credential \(acceptingChanges) cannot be read", cause: error)
    }
  }

  var isLocked: Bool {
    get throws(UsherError) { try store.isLocked }
  }
}
