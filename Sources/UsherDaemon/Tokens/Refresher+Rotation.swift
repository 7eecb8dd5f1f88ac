import Logging
import UsherConfig
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

  /// Returns the tokens of a refresh to revoke at the provider, because the account changed during
  /// the refresh and they are not stored.
  ///
  /// If the account was deleted or its grant has ended, these are all tokens. If the user signed in
  /// again meanwhile, it is only the first one, normally the refresh token: revoking it ends the
  /// earlier grant. That requires the provider's setting `revoke_replaced`.
  func tokensToRevoke(
    _ tokens: [Revocation.Token], of record: AccountRecord
  ) throws(UsherError) -> [Revocation.Token] {
    guard let current = try repository.find(record.id), current.details.grant.death == nil else {
      return tokens
    }
    guard
      dependencies.configStore.current.provider(record.provider)?.settings.revokesReplaced == true
    else { return [] }
    let currentTokens =
      [current.details.grant.refreshToken]
      + current.tokens.values.map { Optional($0.set.accessToken) }
    return tokens.prefix(1).filter { !currentTokens.contains($0.secret) }
  }

  /// Revokes tokens that were never stored, on behalf of the account's owner.
  func revoke(_ tokens: [Revocation.Token], of record: AccountRecord) async {
    await queue.enqueue(Revocation(of: record, tokens, by: .init(ownerOf: record), dependencies))
  }
}
