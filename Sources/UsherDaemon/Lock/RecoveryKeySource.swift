import UsherCore
import UsherSystem

/// Source of the recovery key that systemd passes as a credential for `usherctl recover` and
/// `restore`.
struct RecoveryKeySource {
  static let credentialName = "usherd.recovery-key"

  let credentials: CredentialsDirectory?
  let disk: any Disk

  /// Returns the recovery key; nil if no credential is passed.
  ///
  /// - Throws: `storageUnavailable` if the credential is not a recovery key.
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
