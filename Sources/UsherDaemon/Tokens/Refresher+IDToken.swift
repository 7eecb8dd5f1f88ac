import Logging
import UsherCore
import UsherFlows
import UsherStore

// ID tokens (OIDC Core §2). A refresh may bring a new one; its signature is verified when a client
// asks for it, so that access tokens need not wait for the provider's keys.
extension Refresher {
  /// Returns the encoded reply of `token.get` with an ID token valid for at least `seconds`.
  ///
  /// The tokens are refreshed if the ID token is not valid for that long. If the last refresh
  /// returned no ID token, the provider is not asked again until the user has signed in anew. A
  /// caller that forces a refresh gets a new ID token or an error, never the present one.
  func idToken(
    _ account: AccountID, validFor seconds: Int, isForced: Bool
  ) async throws(UsherError) -> [UInt8] {
    if isForced {
      _ = try await token(
        account, try found(account).mainKey, validFor: 0, isForced: true)
      // A refresh need not return an ID token (OIDC Core §12.2). The caller wants another one than
      // the present one.
      let record = try found(account)
      if record.details.grant.lacksNewIDToken == true { throw idTokenNotRenewed(record) }
    }
    var hasRefreshed = isForced
    while true {
      let record = try found(account)
      if let held = record.usableToken(.idToken),
        held.isValid(
          for: hasRefreshed ? 0 : seconds, at: dependencies.clock.now(),
          dependencies.clock.bootTime())
      {
        if !held.isUnverified { return held.reply }
        try await verifyIDToken(of: record)
        continue
      }
      guard !hasRefreshed, record.details.grant.lacksNewIDToken != true else {
        throw idTokenNotRenewed(record)
      }
      try await renew(account)
      hasRefreshed = true
    }
  }

  private func found(_ account: AccountID) throws(UsherError) -> AccountRecord {
    guard let record = try repository.find(account) else {
      throw AccountRepository.notFound(account)
    }
    return record
  }

  /// Verifies the signature of the account's ID token, and stores the verdict. A token that is not
  /// genuine is deleted.
  ///
  /// - Throws: If the provider's keys cannot be fetched now, or the token is not genuine.
  private func verifyIDToken(of record: AccountRecord) async throws(UsherError) {
    guard let token = record.tokens[.idToken]?.set.accessToken else { return }
    let flaw = try await source.flaw(ofIDToken: token.unsealed(), of: record)
    try await repository.changeLock.withLock(record.lockKey) { () throws(UsherError) in
      guard
        let update = try repository.update(record.id, idToken: token, isGenuine: flaw == nil)
      else { return }
      try await store.commit(update.changes)
      repository.installSilently(update)
    }
    guard let flaw else { return }
    dependencies.log.warning(
      "an ID token that came with a refresh is not handed out",
      metadata: [
        "provider": .string(record.provider.rawValue),
        "account": .string(record.id.rawValue), "cause": .string(flaw),
      ])
    throw UsherError(.providerProtocolError, flaw)
  }
}
