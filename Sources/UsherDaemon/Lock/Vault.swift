import UsherCore
import UsherStore
import UsherSystem

/// The store, open, with nothing taken out of it yet.
struct Vault {
  /// In the store: whether the daemon is locked.
  private struct Marker: Codable {
    var lockedAt: Timestamp
  }

  private static let note = "lock"

  let store: Store
  let keyOrigin: MasterKey.Origin

  /// Opens the store with the master key, which is read for it and not kept; where that does not
  /// open it, with the recovery key, if there is one. Blocks.
  ///
  /// - Parameter isNew: Whether there may be no database yet.
  /// - Throws: A sentence for the operator.
  init(_ setting: DaemonSetting, mayBeNew isNew: Bool) throws(UsherError) {
    // A database without its key must not get a new one, nor a key a new database: that would hide
    // the loss.
    guard isNew || setting.hasDatabase else {
      throw UsherError(
        .storageUnavailable, "the database \(setting.databasePath) is not there any more")
    }
    guard setting.hasDatabase || !setting.isBeingRestored else {
      throw UsherError(
        .storageUnavailable,
        "a restore of the database \(setting.databasePath) was cut short: usherctl restore again")
    }
    let recovery = RecoveryKeySource(credentials: setting.credentials)
    do {
      let key = try MasterKeySource(credentials: setting.credentials).load(
        stateDirectory: setting.stateDirectory,
        generating: try !setting.hasDatabase || Self.opens(setting.databasePath, recovery))
      keyOrigin = key.origin
      store = try key.bytes.withUnsafeBytes { bytes throws(UsherError) in
        try Store.open(
          path: setting.databasePath, masterKey: bytes, recoveryKey: recovery.load,
          keep: LockedBytes.keep, clock: setting.clock, entropy: setting.entropy)
      }
    } catch let error as UsherError {
      throw error
    } catch {
      throw UsherError(.storageUnavailable, "the master key cannot be read", cause: error)
    }
  }

  /// Whether a master key that is missing may be made anew: not where nothing would open by it.
  private static func opens(
    _ database: String, _ recovery: RecoveryKeySource
  ) throws(UsherError) -> Bool {
    guard let key = try recovery.load() else { return false }
    return try Store.isOpened(at: database, by: key)
  }

  var isLocked: Bool {
    get throws(UsherError) { try store.loadNote(Self.note) != nil }
  }

  /// Returns when it is on disk.
  static func lock(_ store: Store, at now: Timestamp) async throws(UsherError) {
    let marker = try SealedPayload(encoding: Marker(lockedAt: now))
    try await store.commit([.putNote(NoteRow(name: note, payload: marker))])
  }

  static func unlock(_ store: Store) async throws(UsherError) {
    try await store.commit([.deleteNote(note)])
  }
}
