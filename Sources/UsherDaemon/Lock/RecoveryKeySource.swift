import UsherCore
import UsherSystem

/// The recovery key, where systemd hands it over: `usherctl recover` and `restore` see to that.
struct RecoveryKeySource {
  static let credentialName = "usherd.recovery-key"

  let credentials: CredentialsDirectory?
  let disk: any Disk

  /// Nil where there is none.
  ///
  /// - Throws: `storageUnavailable` for what is no recovery key.
  func load() throws(UsherError) -> RecoveryKey? {
    guard let text = try text() else { return nil }
    do throws(RecoveryKey.Mistake) {
      return try RecoveryKey(text)
    } catch {
      throw UsherError(.storageUnavailable, "the recovery key \(error)")
    }
  }

  private func text() throws(UsherError) -> Secret? {
    do {
      return try credentials.flatMap { try disk.credential(named: Self.credentialName, in: $0) }
    } catch {
      throw UsherError(
        .storageUnavailable, "the credential \(Self.credentialName) cannot be read", cause: error)
    }
  }
}
