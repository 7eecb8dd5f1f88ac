import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

// Tokens for an audience at a provider that exchanges tokens (RFC 8693). The account's access token
// is exchanged, so the grant's refresh token stays as it is. A refresh token that comes with the
// new token is not kept: the account's token is exchanged again when the new one ends.
extension Refresher {
  /// Whether the token with this key is got by token exchange.
  func isExchanged(_ key: TokenKey, of record: AccountRecord) -> Bool {
    guard !key.audience.isEmpty, key != .idToken else { return false }
    return dependencies.configStore.current.provider(record.provider)?.settings.exchangesTokens
      == true
  }

  /// Exchanges the account's access token, which is refreshed before if it is about to end.
  ///
  /// If the provider does not accept that token, for example because it was revoked, it is
  /// refreshed and exchanged once more.
  ///
  /// - Returns: The encoded reply of `token.get`.
  func exchange(
    _ record: AccountRecord, _ key: TokenKey
  ) async throws(UsherError) -> [UInt8] {
    try await saveUnsavedRefresh(record)
    await writeEndedGrants(of: record.id)
    let record = try await withUsableToken(record.id)
    switch try await attempt(record, key) {
    case .success(let reply): return reply
    case .failure(let error):
      guard mayRefreshSubject(of: record) else { throw error }
      _ = try await refresh(record, record.mainKey, validFor: 0)
      guard let refreshed = try repository.find(record.id) else {
        throw AccountRepository.notFound(record.id)
      }
      return try await attempt(refreshed, key).get()
    }
  }

  /// Returns the account with an access token that can be exchanged.
  private func withUsableToken(_ account: AccountID) async throws(UsherError) -> AccountRecord {
    guard let record = try repository.find(account) else {
      throw AccountRepository.notFound(account)
    }
    if isUsable(record, for: TokenService.defaultValidity) { return record }
    do throws(UsherError) {
      _ = try await refresh(record, record.mainKey, validFor: TokenService.defaultValidity)
    } catch {
      // The present token still serves if it has not ended.
      guard let record = try repository.find(account), isUsable(record, for: 0) else {
        throw error
      }
      return record
    }
    guard let refreshed = try repository.find(account) else {
      throw AccountRepository.notFound(account)
    }
    return refreshed
  }

  /// Whether the account's access token can be exchanged: it is valid, and bound to a key if the
  /// new one must be (RFC 9449 §5).
  private func isUsable(_ record: AccountRecord, for seconds: Int) -> Bool {
    guard let token = record.usableToken(record.mainKey),
      token.isValid(for: seconds, at: dependencies.clock.now(), dependencies.clock.bootTime())
    else { return false }
    let settings = dependencies.configStore.current.provider(record.provider)?.settings
    return settings?.view(as: OIDCSettings.self)?.dpop != true || token.set.tokenType == "DPoP"
  }

  /// Whether the access token that the provider did not accept is refreshed. A token that is new is
  /// not, since callers could cause a refresh by each call.
  private func mayRefreshSubject(of record: AccountRecord) -> Bool {
    guard record.details.grant.isRenewable, let token = record.tokens[record.mainKey] else {
      return false
    }
    let interval = Duration.seconds(dependencies.config.limits.forceRefreshSeconds)
    return dependencies.clock.now() - token.issuedAt >= interval
  }

  /// Exchanges the account's access token once.
  ///
  /// - Returns: The reply, or the error if another access token of the account may help.
  private func attempt(
    _ record: AccountRecord, _ key: TokenKey
  ) async throws(UsherError) -> Result<[UInt8], UsherError> {
    guard let subject = record.usableToken(record.mainKey)?.set.accessToken else {
      throw grantEndedError(record)
    }
    let grant = record.details.grant.refreshToken ?? subject
    if let error = refusals.find(of: record, key, grant, dependencies) { throw error }
    try source.usableProvider(of: record)
    try await checkStore(record, holding: subject)
    let providerChanges = providerChanges
    switch await source.exchange(subject.unsealed(), of: record, for: key) {
    case .granted(let tokens, let requestedAt):
      let reply = try await persist(tokens, for: subject, record, key)
      guard !tokens.haveEnded(since: requestedAt, at: dependencies.clock.now()) else {
        throw source.endedOnArrival(record)
      }
      return .success(reply)
    case .subjectRefused(let error):
      if !mayRefreshSubject(of: record) {
        recordRefusal(error, record.id, key, grant, asOf: providerChanges)
      }
      return .failure(error)
    case .failed(let error):
      // Only errors from the provider are remembered; a missing credential is checked anew.
      if error.detail.provider != nil {
        recordRefusal(error, record.id, key, grant, asOf: providerChanges)
      }
      throw error
    }
  }

  /// Makes sure that the store accepts writes, because otherwise each call would cause an exchange.
  private func checkStore(
    _ record: AccountRecord, holding subject: Sealed<Secret>
  ) async throws(UsherError) {
    try await repository.changeLock.withLock(record.lockKey) { () throws(UsherError) in
      guard let current = try repository.find(record.id),
        current.usableToken(current.mainKey)?.set.accessToken == subject
      else { throw AccountRepository.changedMeanwhile }
      try await store.commit([.putAccount(try current.row())])
    }
  }

  /// Stores the new token. If the account was forgotten or signed in again in the meantime, the
  /// token is revoked instead.
  private func persist(
    _ tokens: TokenSet, for subject: Sealed<Secret>, _ record: AccountRecord, _ key: TokenKey
  ) async throws(UsherError) -> [UInt8] {
    let isSaved = try await repository.changeLock.withLock(record.lockKey) {
      () throws(UsherError) -> Bool in
      guard
        let update = try repository.update(
          record.id, key, exchanged: tokens, for: subject, at: dependencies.clock.now(),
          dependencies.clock.bootTime())
      else { return false }
      try await store.commit(update.changes)
      repository.install(update)
      repository.events.publish(.token, "refreshed", update.record, at: dependencies.clock.now())
      return true
    }
    guard isSaved else {
      await revoke(try tokensToRevoke(tokens.revocable, of: record), of: record)
      throw AccountRepository.changedMeanwhile
    }
    return try current(record.id, key)
  }
}

extension AccountRepository {
  /// Plans the token that an access token of the account was exchanged for.
  ///
  /// - Parameter subject: The access token that was exchanged.
  /// - Returns: Nil if the account was forgotten or signed in again in the meantime.
  func update(
    _ id: AccountID, _ key: TokenKey, exchanged tokens: TokenSet, for subject: Sealed<Secret>,
    at now: Timestamp, _ bootTime: BootTime?
  ) throws(UsherError) -> Update? {
    guard let before = try find(id),
      before.usableToken(before.mainKey)?.set.accessToken == subject
    else { return nil }
    var record = before
    var access = tokens
    access.refreshToken = nil
    access.refreshExpiresAt = nil
    access.attributes = nil
    access.idToken = nil
    let token = try HeldToken(
      StoredToken(set: access, issuedAt: now, issuedAtBootTime: bootTime), as: key, account: id,
      issuer: record.issuer)
    record.tokens[key] = token
    let changes = [Change.putToken(try record.row(key, token))]
    return try droppingSurplus(
      Update(record: record, changes: changes, before: before), besides: key, at: now)
  }
}
