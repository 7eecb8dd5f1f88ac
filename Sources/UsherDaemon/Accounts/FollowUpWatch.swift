import JSONRPC
import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Follow-up of accounts after their flows have ended: asks the provider about them according to
/// each account's ``AccountFollowUp``, applies the provider's callbacks, and notifies owners.
///
/// Accounts that wake soon are in memory, each with a timer. A periodic review covers changes of
/// the wall clock. All other accounts stay on disk (``WakingAccounts``).
final class FollowUpWatch: ProviderObserver {
  private let dependencies: Dependencies
  private let store: Store
  private let repository: AccountRepository
  private let providers: Providers
  private let calls: AccountCalls
  private let events: EventBus
  private let log: Logger
  private let isWithheld: @Sendable (Owner) -> Bool
  private let waking: WakingAccounts
  private let state = Mutex(State())

  private struct State {
    var isStopped = false
    var listener: Int?
    var entries: [AccountID: Entry] = [:]
  }

  private struct Entry {
    let provider: ProviderName?
    var attributes: [String: JSONValue]
    var timer: ScheduledTimer?
    /// Whether a request is in progress; its end schedules the next one.
    var isAsking = false
    /// Whether asking is pointless until the account changes, its provider changes, or the daemon
    /// restarts.
    var isHopeless = false
    /// Whether the row failed to decrypt and that has been logged.
    var isUnreadable = false
  }

  /// - Parameter isWithheld: Whether an owner is withheld; the accounts of such an owner are not
  ///   asked about.
  init(
    dependencies: Dependencies, store: Store, repository: AccountRepository, providers: Providers,
    calls: AccountCalls,
    events: EventBus, log: Logger,
    isWithheld: @escaping @Sendable (Owner) -> Bool = { _ in false }
  ) {
    self.dependencies = dependencies
    self.store = store
    self.repository = repository
    self.providers = providers
    self.calls = calls
    self.events = events
    self.log = log
    self.isWithheld = isWithheld
    waking = WakingAccounts(store: repository.store, dependencies: dependencies, log: log)
    dependencies.configStore.register(self)
  }

  /// Starts to follow changes of accounts. Existing accounts are found by ``review()`` and are not
  /// announced again.
  func start() {
    waking.advance()
    repository.addObserver { [weak self] update in update.before.map { self?.recall($0) } }
    let listener = events.listen(since: nil) { [weak self] entry in
      guard entry.event.topic == .account, let account = entry.event.account else { return }
      self?.look(at: account)
    }.listener
    state.withLock { $0.listener = listener }
  }

  /// Reviews the accounts in memory, then finds those on disk that wake soon.
  func review() async {
    for account in state.withLock({ Array($0.entries.keys) }) where !isFound(account) { return }
    waking.advance()
    await waking.search(isFound)
  }

  /// Does the same as ``review()``; also asks again for accounts of changed providers.
  func providersChanged(_ changed: Set<ProviderName>) async {
    state.withLock { state in
      for (account, entry) in state.entries where entry.provider.map(changed.contains) ?? true {
        state.entries[account]?.isHopeless = false
      }
    }
    await review()
    await waking.searchAgain(changed, isFound)
  }

  /// Reviews accounts whose owners became withheld or are no longer withheld.
  func review(_ accounts: [AccountID]) { for account in accounts { _ = isFound(account) } }

  /// Reviews an account without announcing its current state. Returns false after `stop()`.
  private func isFound(_ account: AccountID) -> Bool {
    if let record = find(account) {
      recall(record)
      look(at: account)
    }
    return state.withLock { !$0.isStopped }
  }

  /// Adds an entry with the account's current attributes, unless the account has an entry.
  private func recall(_ record: AccountRecord) {
    guard isKnown(record) else { return }
    state.withLock { state in
      guard !state.isStopped, state.entries[record.id] == nil else { return }
      state.entries[record.id] = Entry(
        provider: record.provider, attributes: record.details.attributes)
    }
  }

  /// Whether the account's current state needs no event: its inquiry was announced before, or its
  /// provider is not available and the inquiry continues later.
  private func isKnown(_ record: AccountRecord) -> Bool {
    (try? providers.named(record.provider)).map(record.isOf) != true || inquiry(of: record) != nil
  }

  /// Stops all timers; no further requests are sent.
  func stop() {
    let (entries, listener) = state.withLock { state in
      state.isStopped = true
      defer { state.entries = [:] }
      return (state.entries.values, state.listener)
    }
    for entry in entries { entry.timer?.cancel() }
    if let listener { events.stop(listener) }
  }

  private func followUp(of record: AccountRecord) -> (any AccountFollowUp)? {
    guard let provider = try? providers.named(record.provider), record.isOf(provider) else {
      return nil
    }
    return ProviderRegistry.followUp(of: provider, attributes: record.details.attributes)
  }

  /// Returns the account's inquiry; nil if there is none or the owner is withheld.
  private func inquiry(of record: AccountRecord) -> (any AccountInquiry)? {
    isWithheld(record.owner) ? nil : followUp(of: record) as? any AccountInquiry
  }

  /// Returns nil also if the account cannot be read; the next review tries again.
  private func find(_ account: AccountID) -> AccountRecord? {
    do throws(UsherError) {
      guard let record = try repository.find(account) else {
        forget(account)
        return nil
      }
      if state.withLock({ $0.entries[account]?.isUnreadable ?? false }) { forget(account) }
      return record
    } catch {
      missed(account, error)
      return nil
    }
  }

  private func missed(_ account: AccountID, _ error: UsherError) {
    let isNew = state.withLock { state -> Bool in
      guard !state.isStopped else { return false }
      var entry = state.entries[account] ?? Entry(provider: nil, attributes: [:])
      let isNew = !entry.isUnreadable
      entry.isUnreadable = true
      state.entries[account] = entry
      return isNew
    }
    guard isNew else { return }
    log.warning(
      "an account cannot be followed up",
      metadata: ["account": .string(account.rawValue), "cause": .string(error.message)])
  }

  /// Handles a timer on the event loop, where an account must not be read from disk.
  private func wake(_ account: AccountID) {
    guard !repository.holds(account) else { return ask(about: account) }
    Task(executorPreference: dependencies.executor) { [weak self] in self?.ask(about: account) }
  }

  /// Announces changes of an account, then asks the provider if that is due or sets the timer.
  private func look(at account: AccountID) {
    guard let record = find(account) else { return }
    guard let inquiry = inquiry(of: record) else { return forget(account) }
    let attributes = record.details.attributes
    let (isNew, mayAsk) = state.withLock { state -> (Bool, Bool) in
      guard !state.isStopped else { return (false, false) }
      var entry =
        state.entries[account] ?? Entry(provider: record.provider, attributes: [:])
      let isNew = entry.attributes != attributes
      if isNew { entry.isHopeless = false }
      entry.attributes = attributes
      state.entries[account] = entry
      return (isNew, !entry.isAsking && !entry.isHopeless)
    }
    let now = dependencies.clock.now()
    if isNew {
      events.publish(.kyc(inquiry.eventName, record, at: now), of: record)
      log.info(
        "verdict",
        metadata: [
          "account": .string(account.rawValue), "provider": .string(record.provider.rawValue),
          "news": .string(inquiry.eventName),
        ])
    }
    let due = record.tokens.isEmpty || !mayAsk ? nil : inquiry.nextInquiry(after: now)
    if mayAsk, due == nil || !waking.haveFound(record) { return forget(account) }
    setTimer(account, due.map { $0 - now })
  }

  private func forget(_ account: AccountID) {
    state.withLock { $0.entries.removeValue(forKey: account) }?.timer?.cancel()
  }

  private func setTimer(_ account: AccountID, _ delay: Duration?) {
    let timer = delay.map { delay in
      dependencies.scheduler.after(delay) { [weak self] in self?.wake(account) }
    }
    let old = state.withLock { state -> ScheduledTimer? in
      guard !state.isStopped, state.entries[account] != nil else { return timer }
      defer { state.entries[account]?.timer = timer }
      return state.entries[account]?.timer
    }
    old?.cancel()
  }

  private func ask(about account: AccountID) {
    guard let record = repository.record(account), let inquiry = inquiry(of: record),
      let provider = try? providers.named(record.provider)
    else { return forget(account) }
    let isMine = state.withLock { state in
      guard !state.isStopped, state.entries[account]?.isAsking == false else { return false }
      state.entries[account]?.isAsking = true
      return true
    }
    guard isMine else { return }
    Task(executorPreference: dependencies.executor) { [self] in
      let outcome = await calls.send(inquiry.inquiry(of: account), of: account, for: provider)
      let isHopeless = await take(account) { followUp in
        guard let inquiry = followUp as? any AccountInquiry else { return .nothing }
        return inquiry.changes(from: outcome, at: self.dependencies.clock.now())
      }
      state.withLock { state in
        state.entries[account]?.isAsking = false
        if isHopeless { state.entries[account]?.isHopeless = true }
      }
      look(at: account)
    }
  }

  /// Stores the result of a provider's answer about an account, and logs a failure.
  ///
  /// - Returns: Whether further requests are pointless.
  private func take(
    _ account: AccountID, _ lesson: @escaping @Sendable (any AccountFollowUp) -> FollowUpOutcome
  ) async -> Bool {
    do throws(UsherError) {
      return try await applyChanges(about: account, lesson) == .stopPolling
    } catch {
      log.warning(
        "a provider's news of an account could not be stored",
        metadata: ["account": .string(account.rawValue), "cause": .string(error.message)])
      return false
    }
  }

  /// Stores the result of applying `lesson` to the account's current follow-up.
  ///
  /// - Throws: `storageUnavailable`; nothing has changed then.
  @discardableResult
  func applyChanges(
    about account: AccountID, _ lesson: @escaping @Sendable (any AccountFollowUp) -> FollowUpOutcome
  ) async throws(UsherError) -> FollowUpOutcome {
    guard let record = try repository.find(account) else { return .nothing }
    return try await repository.turns.withLock(record.shelf) { () throws(UsherError) in
      guard let record = try repository.find(account), let followUp = followUp(of: record) else {
        return .nothing
      }
      let learnt = lesson(followUp)
      guard let update = try update(record, learnt) else { return learnt }
      try await store.commit(update.changes)
      repository.install(update)
      if case .grantRevoked = learnt {
        events.publish(.token("dead", record, at: dependencies.clock.now()), of: record)
      }
      return learnt
    }
  }

  /// Returns nil if nothing changes.
  private func update(
    _ record: AccountRecord, _ lesson: FollowUpOutcome
  ) throws(UsherError) -> AccountRepository.Update? {
    switch lesson {
    case .nothing, .stopPolling: nil
    case .attributes(let attributes): try repository.update(record.id, attributes: attributes)
    // The end of a dead grant was announced before.
    case .grantRevoked(let word):
      record.details.grant.death == nil ? try repository.update(dropping: record, word: word) : nil
    }
  }
}
