import JSONRPC
import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Learns what becomes of accounts after their flows have ended: asks the provider as each account's
/// ``AccountFollowUp`` says, takes in what the provider's own calls tell, and tells owners.
///
/// One timer an account that wakes soon, and a look at all of these now and then, for a clock that was
/// set. The others are on the disk until then (``WakingAccounts``).
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
    /// A question is under way: its end looks for what comes next.
    var isAsking = false
    /// Until something else is known of the account, or a restart.
    var isHopeless = false
    /// Its row does not open: nobody is told twice.
    var isUnreadable = false
  }

  /// - Parameter isWithheld: Whether nothing of an owner's may be used: nothing is asked about it.
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

  /// From now on every change of an account is followed; those there are will be found by
  /// ``review()``, and nobody is told anew of them.
  func start() {
    waking.advance()
    repository.follow { [weak self] update in update.before.map { self?.recall($0) } }
    let listener = events.listen(since: nil) { [weak self] entry in
      guard entry.event.topic == .account, let account = entry.event.account else { return }
      self?.look(at: account)
    }.listener
    state.withLock { $0.listener = listener }
  }

  /// Looks anew at every account that it has in mind, and for those that wake soon by now.
  func review() async {
    for account in state.withLock({ Array($0.entries.keys) }) where !isFound(account) { return }
    waking.advance()
    await waking.search(isFound)
  }

  /// As ``review()``; at those of providers that have changed, as if asking had led somewhere.
  func providersChanged(_ changed: Set<ProviderName>) async {
    state.withLock { state in
      for (account, entry) in state.entries where entry.provider.map(changed.contains) ?? true {
        state.entries[account]?.isHopeless = false
      }
    }
    await review()
    await waking.searchAgain(changed, isFound)
  }

  /// Looks anew at accounts that may be withheld no more, or from now on.
  func review(_ accounts: [AccountID]) { for account in accounts { _ = isFound(account) } }

  /// Of one that was there before nobody is told anew. False once it is stopped.
  private func isFound(_ account: AccountID) -> Bool {
    if let record = find(account) {
      recall(record)
      look(at: account)
    }
    return state.withLock { !$0.isStopped }
  }

  /// Has an account in mind as it was, unless it has that already.
  private func recall(_ record: AccountRecord) {
    guard isKnown(record) else { return }
    state.withLock { state in
      guard !state.isStopped, state.entries[record.id] == nil else { return }
      state.entries[record.id] = Entry(
        provider: record.provider, attributes: record.details.attributes)
    }
  }

  /// Whether nobody is to be told of it: its inquiry has been told of before, or will be asked for
  /// when its provider is back.
  private func isKnown(_ record: AccountRecord) -> Bool {
    (try? providers.named(record.provider)).map(record.isOf) != true || inquiry(of: record) != nil
  }

  /// Nothing begins any more.
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

  /// Where there is something to ask for, and to tell of.
  private func inquiry(of record: AccountRecord) -> (any AccountInquiry)? {
    isWithheld(record.owner) ? nil : followUp(of: record) as? any AccountInquiry
  }

  /// Nil also where it cannot be read: then it is looked at again with the others.
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

  /// A timer has gone off, on the event loop: what is not in memory is not read there.
  private func wake(_ account: AccountID) {
    guard !repository.holds(account) else { return ask(about: account) }
    Task(executorPreference: dependencies.executor) { [weak self] in self?.ask(about: account) }
  }

  /// Tells what is new about an account, and asks what is due or sets its timer for it.
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
      events.publish(.kyc(inquiry.news, record, at: now), of: record)
      log.info(
        "verdict",
        metadata: [
          "account": .string(account.rawValue), "provider": .string(record.provider.rawValue),
          "news": .string(inquiry.news),
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
        return inquiry.learn(outcome, at: self.dependencies.clock.now())
      }
      state.withLock { state in
        state.entries[account]?.isAsking = false
        if isHopeless { state.entries[account]?.isHopeless = true }
      }
      look(at: account)
    }
  }

  /// - Returns: Whether asking leads nowhere any more.
  private func take(
    _ account: AccountID, _ lesson: @escaping @Sendable (any AccountFollowUp) -> FollowUpOutcome
  ) async -> Bool {
    do throws(UsherError) {
      return try await learn(about: account, lesson) == .hopeless
    } catch {
      log.warning(
        "what a provider told of an account could not be kept",
        metadata: ["account": .string(account.rawValue), "cause": .string(error.message)])
      return false
    }
  }

  /// Keeps what an account's follow-up learns, as the account then stands.
  ///
  /// - Throws: `storageUnavailable`; nothing has changed then.
  @discardableResult
  func learn(
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
      if case .grantIsOver = learnt {
        events.publish(.token("dead", record, at: dependencies.clock.now()), of: record)
      }
      return learnt
    }
  }

  /// Nil where nothing changes.
  private func update(
    _ record: AccountRecord, _ lesson: FollowUpOutcome
  ) throws(UsherError) -> AccountRepository.Update? {
    switch lesson {
    case .nothing, .hopeless: nil
    case .attributes(let attributes): try repository.update(record.id, attributes: attributes)
    // Of one that is dead already nobody is told again.
    case .grantIsOver(let word):
      record.details.grant.death == nil ? try repository.update(dropping: record, word: word) : nil
    }
  }
}
