import UsherAPI
import UsherCore
import UsherStore

// Implementation of the methods for backup and recovery.
extension Services {
  func backUp(_: SystemBackup) async throws(UsherError) -> SystemBackup.Reply {
    let copies = BackupCopies(database: store.status.path, on: processContext.setting.disk)
    copies.sweep(before: dependencies.clock.now() - BackupCopies.maxAge)
    let path = copies.path(dependencies.identifier(""))
    let size = try await store.copy(to: path)
    return .init(path: path, bytes: Int(size))
  }

  /// Implements `key.createRecovery`. The daemon stores only the data key encrypted with the
  /// recovery key, so it cannot show the recovery key again.
  func createRecoveryKey(
    _ call: KeyCreateRecovery
  ) async throws(UsherError) -> KeyCreateRecovery.Reply {
    let key = RecoveryKey(dependencies.entropy.bytes(RecoveryKey.length))
    try await store.setRecoveryKey(key, replacing: call.replace ?? false)
    return .init(recoveryKey: WireSecret(key.text))
  }
}
