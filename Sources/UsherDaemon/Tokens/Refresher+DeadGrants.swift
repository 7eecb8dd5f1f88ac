import Logging
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

// Grants that the provider no longer accepts.
extension Refresher {
  /// The end of a grant that is not yet on disk.
  struct EndedGrant {
    let errorCode: ProviderErrorCode
    /// The refresh token that the provider refused.
    let refused: Sealed<Secret>?
    let lockKey: AccountRepository.OwnerAtProvider
  }

  /// Records that the provider has ended the grant, so that the provider is not asked again.
  ///
  /// The record in memory changes first: a dead grant must not be used even if the disk fails. A
  /// failed write is retried at the account's next call and once a minute:
  /// ``writeEndedGrants(of:)``.
  ///
  /// Returns only if the user signed in again meanwhile.
  func endGrant(
    _ record: AccountRecord, _ errorCode: ProviderErrorCode
  ) async throws(UsherError) {
    var metadata: Logger.Metadata = [
      "provider": .string(record.provider.rawValue), "account": .string(record.id.rawValue),
    ]
    if errorCode.isOfIDToken {
      metadata["cause"] = errorCode.message.map { .string($0) }
      dependencies.log.warning(
        "a refresh returned an ID token that is not valid: a new sign-in is needed",
        metadata: metadata)
    } else {
      dependencies.log.notice(
        "the provider refuses to refresh: a new sign-in is needed", metadata: metadata)
    }
    let refused = record.details.grant.refreshToken
    let ended = try await repository.changeLock.withLock(record.lockKey) {
      () throws(UsherError) -> AccountRecord? in
      guard let update = try repository.update(record.id, endedWith: errorCode, of: refused) else {
        return nil
      }
      repository.install(update)
      unwrittenEnds[record.id] = EndedGrant(
        errorCode: errorCode, refused: refused, lockKey: record.lockKey)
      await write(update.changes, endingGrantOf: record.id)
      return update.record
    }
    guard let ended else { return }
    repository.events.publish(.token, "dead", record, at: dependencies.clock.now())
    throw grantEndedError(ended)
  }

  /// Retries to write the ends of grants to disk.
  ///
  /// - Parameter account: The account; nil for all accounts.
  func writeEndedGrants(of account: AccountID? = nil) async {
    for (id, end) in unwrittenEnds where account == nil || account == id {
      try? await repository.changeLock.withLock(end.lockKey) { () throws(UsherError) in
        if let update = try repository.update(id, endedWith: end.errorCode, of: end.refused) {
          // The cached record was evicted, and the account was read from disk again.
          repository.install(update)
          await write(update.changes, endingGrantOf: id)
        } else if var record = try repository.find(id), record.details.grant.death == end.errorCode
        {
          await write([try repository.putRow(&record)], endingGrantOf: id)
        } else {
          unwrittenEnds[id] = nil
        }
      }
    }
  }

  private func write(_ changes: [Change], endingGrantOf account: AccountID) async {
    do throws(UsherError) {
      try await store.commitFromReserve(changes)
      unwrittenEnds[account] = nil
    } catch {
      dependencies.log.error(
        "the end of a grant cannot be stored yet; it is lost if usherd restarts now",
        metadata: ["account": .string(account.rawValue), "cause": .string(error.message)])
    }
  }

  func grantEndedError(_ record: AccountRecord) -> UsherError {
    let grant = record.details.grant
    let message =
      if grant.death?.isOfIDToken == true {
        "provider \(record.provider) returned an ID token that is not valid with a refresh"
      } else if grant.death != nil {
        "provider \(record.provider) no longer accepts this sign-in"
      } else if record.tokens.isEmpty && grant.refreshToken == nil {
        "this account has no token: it is not signed in yet, or the token was removed"
      } else {
        "the provider issued no refresh token, so the token cannot be renewed"
      }
    return signInRequired(record, message, grant.death)
  }

  func refusedError(_ record: AccountRecord, _ errorCode: ProviderErrorCode) -> UsherError {
    let message =
      errorCode.message ?? "provider \(record.provider) refuses to refresh and gives no reason"
    return signInRequired(record, message, errorCode)
  }

  func idTokenNotRenewed(_ record: AccountRecord) -> UsherError {
    signInRequired(
      record,
      "provider \(record.provider) returned no ID token with the last refresh: sign in to get one",
      nil)
  }

  private func signInRequired(
    _ record: AccountRecord, _ message: String, _ errorCode: ProviderErrorCode?
  ) -> UsherError {
    UsherError(
      .reauthenticationRequired, message,
      detail: .init(
        next: record.signInAgain(for: record.details.grant.scope, dependencies), provider: errorCode
      ))
  }
}

extension ProviderErrorCode {
  /// Creates the error that ends a grant because a refresh returned an invalid ID token.
  ///
  /// - Parameter flaw: The violated rule and the value found, as a sentence.
  init(name: ProviderName, idTokenFlaw flaw: String) {
    self.init(name: name, code: "id_token", message: flaw)
  }

  fileprivate var isOfIDToken: Bool { code == "id_token" }
}
