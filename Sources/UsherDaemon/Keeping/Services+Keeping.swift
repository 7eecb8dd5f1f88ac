import UsherAPI
import UsherCore
import UsherStore

// What a host that is lost is made good by.
extension Services {
  func backUp() async throws(UsherError) -> SystemBackup.Reply {
    let copies = BackupCopies(database: store.status.path, on: processContext.setting.disk)
    copies.sweep(before: dependencies.clock.now() - BackupCopies.patience)
    let path = copies.path(dependencies.identifier(""))
    let size = try await store.copy(to: path)
    return .init(path: path, bytes: Int(size))
  }

  /// The daemon forgets the key when it is told: only what it wraps is kept.
  func createRecoveryKey(
    _ call: KeyCreateRecovery
  ) async throws(UsherError) -> KeyCreateRecovery.Reply {
    let key = RecoveryKey(dependencies.entropy.bytes(RecoveryKey.length))
    try await store.setRecoveryKey(key, replacing: call.replace ?? false)
    return .init(recoveryKey: WireSecret(key.text))
  }
}
