import Logging
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Refreshes access tokens, one refresh at a time for each account, shared by all callers.
///
/// A refresh is sent only after the store has accepted a write of the same rows and has reserved
/// space for the result. A rotated refresh token is on disk before a caller receives the access
/// token that came with it. If the disk fails nevertheless, the result stays in memory, and the
/// next call for the account writes it first.
actor Refresher: ProviderObserver {
  private typealias Outcome = Result<[UInt8], UsherError>

  let repository: AccountRepository
  let source: TokenSource
  let queue: RevocationQueue

  /// A refresh in progress.
  private struct RunningRefresh {
    let key: TokenKey
    /// ``providerChanges`` when the refresh began.
    let providerChanges: Int
    let task: Task<Outcome, Never>
  }

  private var running: [AccountID: RunningRefresh] = [:]
  private var unsavedRefreshes: [AccountID: UnsavedRefresh] = [:]
  private var forcedAt: [AccountID: Timestamp] = [:]

  /// The result of a refresh that could not be written to disk yet. Its changes are planned again
  /// at each attempt, because the account may have changed.
  struct UnsavedRefresh {
    let key: TokenKey
    let tokens: TokenSet
    /// The refresh token that was sent to the provider.
    let used: Sealed<Secret>
    let at: Timestamp
    let bootTime: BootTime?
  }
  var refusals = RememberedRefusals()
  /// The number of calls of ``providersChanged(_:)``.
  private(set) var providerChanges = 0
  var unwrittenEnds: [AccountID: EndedGrant] = [:]

  init(repository: AccountRepository, source: TokenSource, queue: RevocationQueue) {
    self.repository = repository
    self.source = source
    self.queue = queue
    repository.dependencies.configStore.register(self)
  }

  nonisolated var dependencies: Dependencies { repository.dependencies }
  nonisolated var store: Store { repository.store }

  /// Returns the encoded reply of `token.get` with a token that is valid for at least `seconds`.
  func token(
    _ account: AccountID, _ key: TokenKey, validFor seconds: Int, isForced: Bool
  ) async throws(UsherError) -> [UInt8] {
    var mustRefresh = isForced
    while true {
      if let current = running[account] {
        let outcome = await current.task.value
        guard current.key == key else { continue }
        // A refresh that failed with an earlier credential says nothing about the present one. A
        // forced refresh is not repeated, since the caller may force only one at a time.
        if case .failure = outcome, current.providerChanges != providerChanges, !isForced {
          continue
        }
        return try reply(outcome, account, key, isForced: isForced)
      }
      guard let record = try repository.find(account) else {
        throw UsherError(.notFound, "account \(account) does not exist")
      }
      if !mustRefresh, unsavedRefresh(for: record) == nil, let token = record.usableToken(key),
        token.isValid(for: seconds, at: dependencies.clock.now(), dependencies.clock.bootTime())
      {
        return token.reply
      }
      if let error = scopeProblem(record, key, isForced: mustRefresh) {
        return try reply(.failure(error), account, key, isForced: isForced)
      }
      if mustRefresh {
        // A dead grant uses up no forced refresh of the caller: only a new sign-in helps.
        guard
          unsavedRefresh(for: record) != nil || record.details.grant.isRenewable
            || isExchanged(key, of: record) && record.details.grant.death == nil
        else { throw grantEndedError(record) }
        try chargeForcedRefresh(account)
      }
      mustRefresh = false
      begin(record, key, validFor: seconds)
    }
  }

  /// Replaces the account's main access token if it still is `refused`, which the provider has
  /// rejected. Concurrent callers share one refresh.
  func replace(_ refused: Secret, of account: AccountID) async throws(UsherError) {
    while let current = running[account] { _ = await current.task.value }
    guard let record = try repository.find(account) else {
      throw UsherError(.notFound, "account \(account) does not exist")
    }
    let key = record.mainKey
    if let error = scopeProblem(record, key, isForced: false) { throw error }
    guard
      unsavedRefresh(for: record) != nil
        || record.tokens[key]?.set.accessToken.unsealed() == refused
    else { return }
    begin(record, key, validFor: 0)
    if let outcome = await running[account]?.task.value { _ = try outcome.get() }
  }

  /// Refreshes the account's main tokens, or waits for the refresh of them that is running.
  func renew(_ account: AccountID) async throws(UsherError) {
    while let current = running[account] {
      let outcome = await current.task.value
      guard current.key != repository.record(account)?.mainKey else {
        _ = try outcome.get()
        return
      }
    }
    guard let record = try repository.find(account) else {
      throw AccountRepository.notFound(account)
    }
    if let error = scopeProblem(record, record.mainKey, isForced: false) { throw error }
    begin(record, record.mainKey, validFor: 0)
    if let outcome = await running[account]?.task.value { _ = try outcome.get() }
  }

  /// Returns when no refresh is running, so that no rotated token is lost when the daemon stops.
  func waitUntilIdle() async {
    while let current = running.values.first { _ = await current.task.value }
  }

  private func begin(_ record: AccountRecord, _ key: TokenKey, validFor seconds: Int) {
    let task = Task<Outcome, Never>(executorPreference: dependencies.executor) {
      let outcome = await Result(awaiting: { () async throws(UsherError) in
        try await self.refresh(record, key, validFor: seconds)
      })
      await self.end(record.id)
      return outcome
    }
    running[record.id] = RunningRefresh(
      key: key, providerChanges: providerChanges, task: task)
  }

  private func end(_ account: AccountID) { running[account] = nil }

  /// Refreshes, or stores the result of an earlier refresh if its token is valid for `seconds`. If
  /// the token has ended when the provider's reply arrives, tries once more.
  func refresh(
    _ record: AccountRecord, _ key: TokenKey, validFor seconds: Int
  ) async throws(UsherError) -> [UInt8] {
    if isExchanged(key, of: record) { return try await exchange(record, key) }
    if let reply = try await tryRefresh(record, key, validFor: seconds) { return reply }
    guard let changed = try repository.find(record.id)
    else { throw AccountRepository.changedMeanwhile }
    if let reply = try await tryRefresh(changed, key, validFor: seconds) { return reply }
    throw source.endedOnArrival(record)
  }

  /// Refreshes once, or stores the result of an earlier refresh.
  ///
  /// - Returns: Nil if the token has ended.
  private func tryRefresh(
    _ record: AccountRecord, _ key: TokenKey, validFor seconds: Int
  ) async throws(UsherError) -> [UInt8]? {
    var record = record
    if try await saveUnsavedRefresh(record) {
      guard let saved = try repository.find(record.id)
      else { throw AccountRepository.changedMeanwhile }
      // The disk may have refused the tokens until they ended.
      if let token = saved.usableToken(key),
        token.isValid(for: seconds, at: dependencies.clock.now(), dependencies.clock.bootTime())
      {
        return try current(record.id, key)
      }
      record = saved
      if let error = scopeProblem(record, key, isForced: false) { throw error }
    }
    await writeEndedGrants(of: record.id)
    guard record.details.grant.isRenewable, let refreshToken = record.details.grant.refreshToken
    else { throw grantEndedError(record) }
    if let error = refusals.find(of: record, key, refreshToken, dependencies) { throw error }
    // Checked before the write below. Otherwise each call for an unreachable provider would cause a
    // write.
    try source.usableProvider(of: record)
    record = try await bound(record)
    guard try await prepareStore(record, key, refreshToken) else {
      return try currentUnlessEnded(record.id, key)
    }
    let providerChanges = providerChanges
    FailPoint.reach("refresh.before-send")
    let result = await source.refresh(record, refreshToken.unsealed(), key)
    FailPoint.reach("refresh.after-reply")
    switch result {
    case .granted(let tokens, let requestedAt):
      guard try await persist(tokens, for: refreshToken, record, key) else {
        return try currentUnlessEnded(record.id, key)
      }
      let haveEnded = tokens.haveEnded(since: requestedAt, at: dependencies.clock.now())
      return haveEnded ? nil : try current(record.id, key)
    case .flawed(let tokens, let errorCode):
      await revoke(tokens.revocable, of: record)
      try await endGrant(record, errorCode)
      return try currentUnlessEnded(record.id, key)
    case .dead(let errorCode):
      try await endGrant(record, errorCode)
      return try currentUnlessEnded(record.id, key)
    case .refused(let errorCode):
      let error = refusedError(record, errorCode)
      recordRefusal(error, record.id, key, refreshToken, asOf: providerChanges)
      throw error
    case .unusable(let error, let rotated):
      try await persist(rotated: Sealed(rotated), for: refreshToken, record)
      throw error
    case .failed(let error):
      // Only errors from the provider are remembered; a missing credential is checked anew.
      if error.detail.provider != nil {
        recordRefusal(error, record.id, key, refreshToken, asOf: providerChanges)
      }
      throw error
    }
  }

  /// Makes sure that the result of the refresh can be stored. This matters because the provider may
  /// accept each refresh token only once, and a new one that is only in memory is lost with the
  /// process.
  ///
  /// - Returns: False if the account was forgotten or signed in again in the meantime.
  /// - Throws: `storage_unavailable`; nothing may be sent then.
  private func prepareStore(
    _ record: AccountRecord, _ key: TokenKey, _ refreshToken: Sealed<Secret>
  ) async throws(UsherError) -> Bool {
    try store.allocateReserve()
    return try await repository.changeLock.withLock(record.lockKey) {
      () throws(UsherError) -> Bool in
      guard let changes = try repository.unchangedRows(of: record.id, key, with: refreshToken)
      else {
        return false
      }
      try await store.commit(changes)
      return true
    }
  }

  /// Stores the result of a refresh, or a revocation of its tokens if the account was forgotten or
  /// signed in again in the meantime.
  ///
  /// - Returns: Whether the tokens are the account's.
  private func persist(
    _ tokens: TokenSet, for refreshToken: Sealed<Secret>, _ record: AccountRecord, _ key: TokenKey
  ) async throws(UsherError) -> Bool {
    let isSaved = try await repository.changeLock.withLock(record.lockKey) {
      () throws(UsherError) -> Bool in
      let refresh = UnsavedRefresh(
        key: key, tokens: tokens, used: refreshToken, at: dependencies.clock.now(),
        bootTime: dependencies.clock.bootTime())
      return try await save(refresh, of: record.id)
    }
    if isSaved { return true }
    // The revocation is on disk before the caller is answered, because the provider may be
    // unreachable, and the daemon may be killed.
    await revoke(try tokensToRevoke(tokens.revocable, of: record), of: record)
    return false
  }

  /// Writes the result of an earlier refresh that is not on disk yet.
  ///
  /// - Returns: False if there is none.
  @discardableResult
  func saveUnsavedRefresh(_ record: AccountRecord) async throws(UsherError) -> Bool {
    guard unsavedRefresh(for: record) != nil else { return false }
    return try await repository.changeLock.withLock(record.lockKey) {
      () throws(UsherError) -> Bool in
      guard let record = try repository.find(record.id), let unsaved = unsavedRefresh(for: record)
      else {
        return false
      }
      return try await save(unsaved, of: record.id)
    }
  }

  /// Returns the result of an earlier refresh that is not on disk yet. A result for an earlier
  /// sign-in is dropped.
  func unsavedRefresh(for record: AccountRecord) -> UnsavedRefresh? {
    guard let unsaved = unsavedRefreshes[record.id] else { return nil }
    if unsaved.used == record.details.grant.refreshToken { return unsaved }
    unsavedRefreshes[record.id] = nil
    return nil
  }

  /// Stores and installs the result of a refresh.
  ///
  /// - Returns: False if the account was forgotten or signed in again in the meantime.
  private func save(
    _ unsaved: UnsavedRefresh, of account: AccountID
  ) async throws(UsherError) -> Bool {
    unsavedRefreshes[account] = nil
    guard
      let update = try repository.update(
        account, unsaved.key, granted: unsaved.tokens, for: unsaved.used, at: unsaved.at,
        unsaved.bootTime)
    else { return false }
    unsavedRefreshes[account] = unsaved
    try await store.commitFromReserve(update.changes)
    unsavedRefreshes[account] = nil
    FailPoint.reach("refresh.after-commit")
    repository.install(update)
    logNarrowing(update)
    repository.events.publish(.token, "refreshed", update.record, at: dependencies.clock.now())
    return true
  }

  /// Returns the reply with the token of a sign-in that overtook a refresh.
  ///
  /// - Returns: Nil if the token has ended.
  private func currentUnlessEnded(
    _ account: AccountID, _ key: TokenKey
  ) throws(UsherError) -> [UInt8]? {
    let reply = try current(account, key)
    let token = repository.record(account)?.usableToken(key)
    let isValid = token?.isValid(
      for: 0, at: dependencies.clock.now(), dependencies.clock.bootTime())
    return isValid == true ? reply : nil
  }

  func current(_ account: AccountID, _ key: TokenKey) throws(UsherError) -> [UInt8] {
    guard let record = try repository.find(account) else {
      throw AccountRepository.changedMeanwhile
    }
    if key == record.mainKey, let error = record.narrowing(dependencies) { throw error }
    guard let token = record.usableToken(key) else { throw AccountRepository.changedMeanwhile }
    return token.reply
  }

  /// Returns the reply of a refresh or, if the refresh failed, the existing token while it is
  /// valid. A caller that forced the refresh gets the error instead.
  private func reply(
    _ outcome: Outcome, _ account: AccountID, _ key: TokenKey, isForced: Bool
  ) throws(UsherError) -> [UInt8] {
    switch outcome {
    case .success(let reply): return reply
    case .failure(let error):
      guard !isForced, let token = repository.record(account)?.usableToken(key),
        token.isAlive(at: dependencies.clock.now()),
        token.isValid(for: 0, at: dependencies.clock.now(), dependencies.clock.bootTime())
      else { throw error }
      return token.reply
    }
  }

  /// Remembers a refusal, unless a provider has changed since the request was sent.
  func recordRefusal(
    _ error: UsherError, _ account: AccountID, _ key: TokenKey, _ refreshToken: Sealed<Secret>,
    asOf providerChanges: Int
  ) {
    guard providerChanges == self.providerChanges else { return }
    refusals.record(error, of: account, key, refreshToken, dependencies)
  }

  /// Removes the refusals of changed providers, because they may accept the new credential.
  func providersChanged(_ providers: Set<ProviderName>) {
    providerChanges += 1
    refusals.removeAll { account in
      repository.record(account).map { providers.contains($0.provider) } ?? true
    }
  }

  /// Limits how often `forceRefresh` is accepted for an account, because each one costs a request
  /// to the provider.
  private func chargeForcedRefresh(_ account: AccountID) throws(UsherError) {
    let now = dependencies.clock.monotonicNow()
    let interval = Duration.seconds(dependencies.config.limits.forceRefreshSeconds)
    forcedAt = forcedAt.filter { $0.value + interval > now }
    if let last = forcedAt[account] {
      throw UsherError(
        .rateLimited, "a refresh of account \(account) was forced less than \(interval) ago",
        detail: .init(
          retryAfterMs: Int((last + interval - now).milliseconds), limit: "force_refresh_seconds"))
    }
    forcedAt[account] = now
  }
}
