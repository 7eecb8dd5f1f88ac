import Logging
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Renews access tokens: one refresh for an account at a time, however many ask.
///
/// No refresh is sent unless the store has just taken a write of the same rows, and has space in reserve
/// for the result. A rotated refresh token is on disk before a caller gets the access token that came
/// with it. If the disk refuses all the same, the grant is kept in memory and written first thing at
/// the next call.
actor Refresher: ProviderObserver {
  private typealias Outcome = Result<[UInt8], UsherError>

  let dependencies: Dependencies
  let store: Store
  let repository: AccountRepository
  private let source: TokenSource
  let queue: RevocationQueue
  let events: EventBus
  let log: Logger

  private var running: [AccountID: (key: TokenKey, task: Task<Outcome, Never>)] = [:]
  private var unsaved: [AccountID: Unsaved] = [:]
  private var forcedAt: [AccountID: Timestamp] = [:]

  /// What a refresh brought and the disk has not taken yet. What is written of it is planned each time
  /// anew: the account may have changed since.
  private struct Unsaved {
    let key: TokenKey
    let tokens: TokenSet
    /// The refresh token that was sent for it.
    let used: Sealed<Secret>
    let at: Timestamp
    let bootTime: BootTime?
  }
  private var refusals: [AccountID: Refusal] = [:]
  var unwrittenDeaths: [AccountID: Death] = [:]

  /// The provider refuses a grant that may yet be good.
  private struct Refusal {
    let key: TokenKey
    let refreshToken: Sealed<Secret>
    let error: UsherError
    let until: Timestamp

    /// Never longer than the setting says, also where that has changed.
    func isInForce(at now: Timestamp, for seconds: Int) -> Bool {
      until > now && until - now <= .seconds(seconds)
    }
  }

  init(
    dependencies: Dependencies, store: Store, repository: AccountRepository, source: TokenSource,
    queue: RevocationQueue,
    events: EventBus, log: Logger
  ) {
    self.dependencies = dependencies
    self.store = store
    self.repository = repository
    self.source = source
    self.queue = queue
    self.events = events
    self.log = log
    dependencies.configStore.register(self)
  }

  /// The encoded reply of `token.get` with a token that is good for that long.
  func token(
    _ account: AccountID, _ key: TokenKey, validFor seconds: Int, isForced: Bool
  ) async throws(UsherError) -> [UInt8] {
    var mustRefresh = isForced
    while true {
      if let current = running[account] {
        let outcome = await current.task.value
        guard current.key == key else { continue }
        return try reply(outcome, account, key, isForced: isForced)
      }
      guard let record = try repository.find(account) else {
        throw UsherError(.notFound, "there is no account \(account)")
      }
      if !mustRefresh, waiting(record) == nil, let token = record.usableToken(key),
        token.isValid(for: seconds, at: dependencies.clock.now(), dependencies.clock.bootTime())
      {
        return token.reply
      }
      if let error = scopeProblem(record, key, isForced: mustRefresh) {
        return try reply(.failure(error), account, key, isForced: isForced)
      }
      if mustRefresh {
        // A dead grant is no reason to wait: only a new log-in helps.
        guard waiting(record) != nil || record.details.grant.isRenewable
        else { throw deadGrant(record) }
        try spend(account)
      }
      mustRefresh = false
      begin(record, key)
    }
  }

  /// Sees to it that the account's token is another than one that is no longer good or soon will not
  /// be; whoever asked first has it refreshed, the others wait for that.
  func replace(_ refused: Secret, of account: AccountID) async throws(UsherError) {
    while let current = running[account] { _ = await current.task.value }
    guard let record = try repository.find(account) else {
      throw UsherError(.notFound, "there is no account \(account)")
    }
    let key = record.mainKey
    if let error = scopeProblem(record, key, isForced: false) { throw error }
    guard waiting(record) != nil || record.tokens[key]?.set.accessToken.unsealed() == refused
    else { return }
    begin(record, key)
    if let outcome = await running[account]?.task.value { _ = try outcome.get() }
  }

  /// Returns when no refresh runs: a rotated refresh token that is on its way must not be lost.
  func settle() async {
    while let current = running.values.first { _ = await current.task.value }
  }

  private func begin(_ record: AccountRecord, _ key: TokenKey) {
    let task = Task<Outcome, Never>(executorPreference: dependencies.executor) {
      let outcome = await self.refreshed(record, key)
      await self.end(record.id)
      return outcome
    }
    running[record.id] = (key, task)
  }

  private func end(_ account: AccountID) { running[account] = nil }

  private func refreshed(_ record: AccountRecord, _ key: TokenKey) async -> Outcome {
    do throws(UsherError) {
      return .success(try await refresh(record, key))
    } catch {
      return .failure(error)
    }
  }

  private func refresh(_ record: AccountRecord, _ key: TokenKey) async throws(UsherError) -> [UInt8]
  {
    if let saved = try await saveWaiting(record, key) { return saved }
    await writeDeaths(of: record.id)
    guard record.details.grant.isRenewable, let refreshToken = record.details.grant.refreshToken
    else { throw deadGrant(record) }
    if let error = refusal(of: record.id, key, refreshToken) { throw error }
    // A caller of a provider that is down causes no writes.
    if let error = source.obstacle(to: record) { throw error }
    guard try await storeTakes(record, key, refreshToken) else {
      return try current(record.id, key)
    }
    FailPoint.reach("refresh.before-send")
    let asked = await source.refresh(record, refreshToken.unsealed(), scope: key.scope)
    FailPoint.reach("refresh.after-reply")
    switch asked {
    case .granted(let tokens):
      return try await keep(tokens, for: refreshToken, record, key)
    case .flawed(let tokens, let word):
      await queue.enqueue(
        Revocation(of: record, tokens.revocable, by: .init(ownerOf: record), dependencies))
      return try await bury(record, key, word)
    case .dead(let word): return try await bury(record, key, word)
    case .refused(let word):
      let message =
        word.message ?? "provider \(record.provider) refuses to refresh and does not say why"
      let error = newLogIn(record, message, word)
      throw remember(error, record.id, key, refreshToken)
    case .unusable(let error, let rotated):
      try await keep(rotated: Sealed(rotated), for: refreshToken, record)
      throw error
    case .failed(let error):
      // Only what the provider itself said: a missing credential is looked for each time.
      if error.detail.provider != nil { remember(error, record.id, key, refreshToken) }
      throw error
    }
  }

  /// Makes sure that what the refresh brings can be stored: the provider spends the refresh token, and a
  /// successor that only memory has is lost with the process.
  ///
  /// - Returns: False when the account was forgotten meanwhile, or signed in anew.
  /// - Throws: `storage_unavailable`; then nothing may be sent.
  private func storeTakes(
    _ record: AccountRecord, _ key: TokenKey, _ refreshToken: Sealed<Secret>
  ) async throws(UsherError) -> Bool {
    try store.holdReserve()
    return try await repository.turns.withLock(record.shelf) { () throws(UsherError) -> Bool in
      guard let changes = try repository.rehearsal(of: record.id, key, with: refreshToken) else {
        return false
      }
      try await store.commit(changes)
      return true
    }
  }

  private func keep(
    _ tokens: TokenSet, for refreshToken: Sealed<Secret>, _ record: AccountRecord, _ key: TokenKey
  ) async throws(UsherError) -> [UInt8] {
    let saved = try await repository.turns.withLock(record.shelf) { () throws(UsherError) -> [UInt8]? in
      let brought = Unsaved(
        key: key, tokens: tokens, used: refreshToken, at: dependencies.clock.now(),
        bootTime: dependencies.clock.bootTime())
      return try await save(brought, of: record.id, key)
    }
    if let saved { return saved }
    // On disk before anybody is answered: the provider may be away, and the daemon may be killed.
    await queue.enqueue(
      Revocation(
        of: record, try unwanted(tokens.revocable, of: record), by: .init(ownerOf: record),
        dependencies))
    return try current(record.id, key)
  }

  /// Which tokens of a refresh are to be revoked where the account changed meanwhile: all of them where
  /// it was forgotten or its tokens were revoked. Where somebody signed in anew, the one that ends the
  /// grant, if the provider is configured so (`revoke_replaced`).
  func unwanted(
    _ tokens: [Revocation.Token], of record: AccountRecord
  ) throws(UsherError) -> [Revocation.Token] {
    guard let current = try repository.find(record.id), current.details.grant.death == nil else {
      return tokens
    }
    guard dependencies.configStore.current.provider(record.provider)?.revokesReplaced == true else {
      return []
    }
    let held =
      [current.details.grant.refreshToken]
      + current.tokens.values.map { Optional($0.set.accessToken) }
    return tokens.prefix(1).filter { !held.contains($0.secret) }
  }

  /// Writes what still waits for the disk; nil where nothing does.
  private func saveWaiting(
    _ record: AccountRecord, _ key: TokenKey
  ) async throws(UsherError) -> [UInt8]? {
    guard waiting(record) != nil else { return nil }
    return try await repository.turns.withLock(record.shelf) { () throws(UsherError) -> [UInt8]? in
      guard let record = try repository.find(record.id), let unsaved = waiting(record) else {
        return nil
      }
      return try await save(unsaved, of: record.id, key)
    }
  }

  /// What still waits for the disk; what belongs to an earlier log-in no longer does.
  private func waiting(_ record: AccountRecord) -> Unsaved? {
    guard let waiting = unsaved[record.id] else { return nil }
    if waiting.used == record.details.grant.refreshToken { return waiting }
    unsaved[record.id] = nil
    return nil
  }

  /// - Returns: Nil when the account was forgotten meanwhile, or signed in anew.
  private func save(
    _ waiting: Unsaved, of account: AccountID, _ key: TokenKey
  ) async throws(UsherError) -> [UInt8]? {
    unsaved[account] = nil
    guard
      let update = try repository.update(
        account, waiting.key, granted: waiting.tokens, for: waiting.used, at: waiting.at,
        waiting.bootTime)
    else { return nil }
    unsaved[account] = waiting
    try await store.commitFromReserve(update.changes)
    unsaved[account] = nil
    FailPoint.reach("refresh.after-commit")
    repository.install(update)
    noteNarrowing(update)
    events.publish(
      .token("refreshed", update.record, at: dependencies.clock.now()), of: update.record)
    return try current(update.record.id, key)
  }

  private func noteNarrowing(_ update: AccountRepository.Update) {
    let grant = update.record.details.grant
    guard let scope = grant.narrowedTo, update.before?.details.grant.narrowedTo != scope else {
      return
    }
    log.warning(
      "a refresh returned less than was granted: a new log-in is needed for the rest",
      metadata: [
        "provider": .string(update.record.provider.rawValue),
        "account": .string(update.record.id.rawValue), "granted": .string(grant.scope),
        "returned": .string(scope),
      ])
  }

  func current(_ account: AccountID, _ key: TokenKey) throws(UsherError) -> [UInt8] {
    guard let record = try repository.find(account) else { throw Self.changedMeanwhile }
    if key == record.mainKey, let error = record.narrowing(dependencies) { throw error }
    guard let token = record.usableToken(key) else { throw Self.changedMeanwhile }
    return token.reply
  }

  private static let changedMeanwhile = UsherError(
    .conflict, "the account changed meanwhile: ask again")

  /// No caller may reduce what another gets: the grant is refreshed as a whole, and a part of it is
  /// asked for only where the provider is configured not to narrow the grant by that.
  private func scopeProblem(
    _ record: AccountRecord, _ key: TokenKey, isForced: Bool
  ) -> UsherError? {
    guard waiting(record) == nil, record.details.grant.death == nil else { return nil }
    if key == record.mainKey {
      // Without force the provider is not asked again: it has said what it grants.
      return isForced ? nil : record.narrowing(dependencies)
    }
    let isSafe =
      dependencies.configStore.current.provider(record.provider)?.mayNarrowRefresh == true
    return isSafe ? nil : record.partRefused
  }

  /// Where no new token can be had, the one there is serves while it lives; who asked for another
  /// one by force is told why there is none.
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

  /// A refused grant is asked about again no sooner than by force: else every call asks.
  @discardableResult
  private func remember(
    _ error: UsherError, _ account: AccountID, _ key: TokenKey, _ refreshToken: Sealed<Secret>
  ) -> UsherError {
    let now = dependencies.clock.monotonicNow()
    refusals = refusals.filter { $0.value.until > now }
    let until = now + .seconds(dependencies.config.limits.forceRefreshSeconds)
    refusals[account] = Refusal(
      key: key, refreshToken: refreshToken, error: error, until: until)
    return error
  }

  /// A credential has changed: what was refused with the old one may be granted now.
  func forgetRefusals() { refusals = [:] }

  func providersChanged(_ providers: Set<ProviderName>) {
    refusals = refusals.filter { account, _ in
      repository.record(account).map { !providers.contains($0.provider) } ?? false
    }
  }

  /// Nothing where a new log-in has brought another refresh token.
  private func refusal(
    of account: AccountID, _ key: TokenKey, _ refreshToken: Sealed<Secret>
  ) -> UsherError? {
    guard let refusal = refusals[account], refusal.key == key,
      refusal.refreshToken == refreshToken,
      refusal.isInForce(
        at: dependencies.clock.monotonicNow(), for: dependencies.config.limits.forceRefreshSeconds)
    else { return nil }
    return refusal.error
  }

  /// `forceRefresh` costs the provider a call each time: only so often.
  private func spend(_ account: AccountID) throws(UsherError) {
    let now = dependencies.clock.monotonicNow()
    let rest = Duration.seconds(dependencies.config.limits.forceRefreshSeconds)
    forcedAt = forcedAt.filter { $0.value + rest > now }
    if let last = forcedAt[account] {
      throw UsherError(
        .rateLimited, "this account was refreshed by force less than \(rest) ago",
        detail: .init(
          retryAfterMs: Int((last + rest - now).milliseconds), limit: "force_refresh_seconds"))
    }
    forcedAt[account] = now
  }
}
