import Logging
import UsherCore
import UsherFlows
import UsherStore

extension Refresher {
  /// Stores a rotated refresh token that came with an unusable access token.
  ///
  /// The record in memory is changed first: the provider may no longer accept the refresh token
  /// that was sent, even if the disk fails.
  func persist(
    rotated: Sealed<Secret>, for used: Sealed<Secret>, _ record: AccountRecord
  ) async throws(UsherError) {
    let isStored = try await repository.changeLock.withLock(record.lockKey) {
      () throws(UsherError) -> Bool in
      guard let update = try repository.update(record.id, rotated: rotated, for: used) else {
        return false
      }
      repository.install(update)
      do throws(UsherError) {
        try await store.commitFromReserve(update.changes)
      } catch {
        dependencies.log.error(
          "a new refresh token cannot be stored: a restart before the next refresh loses it",
          metadata: ["account": .string(record.id.rawValue), "cause": .string(error.message)])
      }
      return true
    }
    if isStored { return }
    let token = Revocation.Token(
      kind: .refreshToken, secret: rotated, scope: record.details.grant.scope, expiresAt: nil)
    await revoke(try tokensToRevoke([token], of: record), of: record)
  }
}
