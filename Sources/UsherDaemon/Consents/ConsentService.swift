import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Implementation of `consent.list` and `consent.revoke`, and the removal of expired consents.
struct ConsentService: Sendable {
  private static let page = 256

  let repository: AccountRepository

  private var configStore: ConfigStore { repository.dependencies.configStore }
  private var now: Timestamp { repository.dependencies.clock.now() }

  /// Implements `consent.list`. Blocks if the accounts are not in memory.
  ///
  /// - Parameter record: The account that the call names, if it exists for the caller.
  func list(
    _ call: ConsentList, of record: AccountRecord?, _ caller: Caller
  ) throws(UsherError) -> ConsentList.Reply {
    let now = now
    let records =
      call.account == nil
      ? try repository.list(for: caller, ConsentList.name, at: call.provider) {
        !$0.consents.entries.isEmpty
      } : try records(call.account, record, call.provider, caller, ConsentList.name)
    return .init(
      consents: records.flatMap { record in
        let visible = record.consents.entries.filter { key, consent in
          consent.isValid(at: now) && caller.mayManageConsents(of: key.client)
        }
        return visible.map { record.entry($0, $1) }
          .sorted { ($0.client, $0.grant) < ($1.client, $1.grant) }
      })
  }

  /// Implements `consent.revoke`.
  ///
  /// - Parameters:
  ///   - record: The account that the call names, if it exists for the caller.
  ///   - isCovered: Whether the policy rule that permits the call applies to an account that the
  ///     call does not name.
  func revoke(
    _ call: ConsentRevoke, of record: AccountRecord?, _ caller: Caller,
    where isCovered: (AccountRecord) -> Bool
  ) async throws(UsherError) -> ConsentRevoke.Reply {
    guard call.account != nil || call.provider != nil else { throw AccountRepository.nothingNamed }
    if let provider = call.provider, configStore.current.provider(provider) == nil,
      try !repository.hasAccounts(of: caller.owner, at: provider)
    {
      throw UsherError(.notFound, "provider \(provider) does not exist", field: "provider")
    }
    var revoked = 0
    for record in try records(call.account, record, call.provider, caller, ConsentRevoke.name)
    where isCovered(record) {
      revoked += try await withdraw(from: record) { key, consent in
        consent.isValid(at: now) && caller.mayManageConsents(of: key.client)
          && call.client.map { $0 == key.client } ?? true
          && call.grant.map { storedName($0, at: record.provider) == key.grant } ?? true
      }
    }
    return .init(revoked: revoked)
  }

  /// Returns the stored name of a grant, which callers may spell differently, because a provider
  /// type may accept several spellings.
  private func storedName(_ grant: String, at provider: ProviderName) -> String {
    configStore.current.provider(provider)
      .flatMap { ProviderRegistry.definition(of: $0.settings.variety).grant(grant) } ?? grant
  }

  /// Removes expired consents, and the profile members that no other consent opens. Called once a
  /// minute.
  func sweep() async throws(UsherError) {
    var last: AccountID?
    repeat {
      let ids = try repository.store.accountsWithConsents(
        expiredBy: now, after: last, atMost: Self.page)
      for id in ids {
        // An account that fails to decrypt is not shown to any client, so its consents can wait.
        guard let record = repository.record(id) else { continue }
        try await withdraw(from: record) { !$1.isValid(at: now) }
      }
      last = ids.count == Self.page ? ids.last : nil
    } while last != nil
  }

  /// Withdraws the matching consents of an account.
  ///
  /// - Returns: The number of withdrawn consents.
  @discardableResult
  func withdraw(
    from record: AccountRecord,
    where isIncluded: (AccountConsents.Key, AccountConsents.Consent) -> Bool
  ) async throws(UsherError) -> Int {
    try await repository.changeLock.withLock(record.lockKey) { () throws(UsherError) in
      guard let plan = try repository.update(record.id, at: now, withdrawing: isIncluded)
      else { return 0 }
      try await repository.store.commit(plan.update.changes)
      repository.install(plan.update)
      return plan.withdrawn
    }
  }

  private func records(
    _ account: AccountID?, _ record: AccountRecord?, _ provider: ProviderName?, _ caller: Caller,
    _ method: String
  ) throws(UsherError) -> [AccountRecord] {
    guard let account else { return try repository.accounts(for: caller, method, at: provider) }
    guard let record else { throw AccountRepository.notFound(account) }
    // The account may have been forgotten since the call was authorized.
    let current = try repository.account(record.id, of: record.owner)
    return provider == nil || provider == current.provider ? [current] : []
  }
}

extension Caller {
  /// Whether the caller may see and withdraw the consents of the given client of its owner.
  fileprivate func mayManageConsents(of client: String) -> Bool {
    speaksForAllClients || client == self.client
  }
}

extension AccountRecord {
  fileprivate func entry(
    _ key: AccountConsents.Key, _ consent: AccountConsents.Consent
  ) -> ConsentList.Entry {
    .init(
      account: id, provider: provider, client: key.client, grant: key.grant,
      grantedAt: consent.grantedAt, expiresAt: consent.expiresAt, grantedBy: consent.grantedBy)
  }
}
