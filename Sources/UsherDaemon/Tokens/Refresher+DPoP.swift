import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

extension Refresher {
  /// Returns the account with a key if its provider must bind tokens to one (DPoP, RFC 9449).
  ///
  /// A grant from before that setting gets its key now. The key is on disk before the provider can
  /// bind a refresh token to it. If the account changes meanwhile, it is returned as it was.
  func bound(_ record: AccountRecord) async throws(UsherError) -> AccountRecord {
    let settings = dependencies.configStore.current.provider(record.provider)?.settings
    guard settings?.view(as: OIDCSettings.self)?.dpop == true,
      record.details.grant.dpopKey == nil
    else { return record }
    return try await repository.changeLock.withLock(record.lockKey) {
      () throws(UsherError) -> AccountRecord in
      guard let current = try repository.find(record.id), current.details.grant.dpopKey == nil,
        current.details.grant.refreshToken == record.details.grant.refreshToken
      else { return record }
      var transition = dependencies.transitionContext()
      let key = DPoPKey.make { transition.random($0) }
      let update = try repository.update(current) { $0.grant.dpopKey = key }
      try await store.commit(update.changes)
      repository.installSilently(update)
      return update.record
    }
  }
}
