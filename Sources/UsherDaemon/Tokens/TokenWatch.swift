import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

/// Maintains tokens in the background: refreshes those of accounts marked `keepAlive` before they
/// expire, and notifies owners before a grant expires.
///
/// Accounts that wake soon are in memory, each with a timer. A periodic review covers changes of
/// the wall clock. All other accounts stay on disk (``WakingAccounts``).
final class TokenWatch: ProviderObserver {
  private let dependencies: Dependencies
  private let repository: AccountRepository
  private let refresher: Refresher
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
    var progress = TokenPlan.Progress()
    var timer: ScheduledTimer?
    /// A refresh is in progress; its end schedules the next task.
    var isRenewing = false
    /// The row failed to decrypt; that was already logged.
    var isUnreadable = false

    /// Whether the entry holds nothing that is not on disk.
    var isBlank: Bool { progress == .init() && !isRenewing }
  }

  /// - Parameter isWithheld: Whether an owner is withheld; such an owner's accounts are left alone.
  init(
    dependencies: Dependencies, repository: AccountRepository, refresher: Refresher,
    events: EventBus,
    log: Logger,
    isWithheld: @escaping @Sendable (Owner) -> Bool = { _ in false }
  ) {
    self.dependencies = dependencies
    self.repository = repository
    self.refresher = refresher
    self.events = events
    self.log = log
    self.isWithheld = isWithheld
    waking = WakingAccounts(store: repository.store, dependencies: dependencies, log: log)
    dependencies.configStore.register(self)
  }

  /// Starts to follow changes of accounts. Existing accounts are found by ``review()``.
  func start() {
    waking.advance(lead: warning)
    let listener = events.listen(since: nil) { [weak self] entry in
      guard entry.event.topic == .account, let account = entry.event.account else { return }
      self?.look(at: account)
    }.listener
    state.withLock { $0.listener = listener }
  }

  /// Reviews the accounts in memory, then finds those on disk that wake soon.
  func review() async {
    for account in state.withLock({ Array($0.entries.keys) }) { look(at: account) }
    waking.advance(lead: warning)
    await waking.search(isLookedAt)
  }

  /// Does the same as ``review()``; also forgets earlier failures of accounts of changed providers.
  func providersChanged(_ changed: Set<ProviderName>) async {
    state.withLock { state in
      for (account, entry) in state.entries where entry.provider.map(changed.contains) ?? true {
        state.entries[account]?.progress.forgetFailures()
      }
    }
    await review()
    await waking.searchAgain(changed, isLookedAt)
  }

  /// Reviews accounts whose owners became withheld or are no longer withheld.
  func review(_ accounts: [AccountID]) { for account in accounts { look(at: account) } }

  /// How long before a grant's expiry the owner is notified.
  private var warning: Duration { .seconds(dependencies.config.token.grantWarningSeconds) }

  /// Returns false after `stop()`.
  private func isLookedAt(_ account: AccountID) -> Bool {
    look(at: account)
    return state.withLock { !$0.isStopped }
  }

  /// Stops all timers; no further task begins.
  func stop() {
    let (entries, listener) = state.withLock { state in
      state.isStopped = true
      defer { state.entries = [:] }
      return (state.entries.values, state.listener)
    }
    for entry in entries { entry.timer?.cancel() }
    if let listener { events.stop(listener) }
  }

  /// Handles a timer on the event loop, where an account must not be read from disk.
  private func wake(_ account: AccountID) {
    guard !repository.holds(account) else { return look(at: account) }
    Task(executorPreference: dependencies.executor) { [weak self] in self?.look(at: account) }
  }

  /// Runs the tasks that are due for an account, and sets its timer for the next one.
  private func look(at account: AccountID) {
    while let plan = next(account) {
      guard plan.at <= dependencies.clock.now() else { return setTimer(account, plan.at) }
      switch plan.action {
      case .renew: return renew(account)
      case .warn: tell("expiring", account) { $0.warnedOf = $1 }
      }
    }
  }

  /// Returns nil if there is no next task, or if a running refresh will schedule it.
  private func next(_ account: AccountID) -> TokenPlan? {
    let record: AccountRecord?
    do throws(UsherError) {
      record = try repository.find(account)
    } catch {
      missed(account, error)
      return nil
    }
    // If the provider is missing or has changed, nothing can be done until it is back.
    let isServed =
      record.map { record in
        !isWithheld(record.owner)
          && dependencies.configStore.current.provider(record.provider).map(record.isOf) ?? false
      } ?? false
    let now = dependencies.clock.now()
    let (plan, old) = state.withLock { state -> (TokenPlan?, ScheduledTimer?) in
      guard !state.isStopped, let record else {
        return (nil, state.entries.removeValue(forKey: account)?.timer)
      }
      var entry = state.entries[account] ?? Entry(provider: record.provider)
      let old = entry.timer
      entry.timer = nil
      entry.isUnreadable = false
      let plan =
        isServed && !entry.isRenewing
        ? TokenPlan.next(for: record, warning: warning, after: entry.progress, at: now) : nil
      let isLeft = entry.isBlank && (plan == nil || !waking.haveFound(record))
      state.entries[account] = isLeft ? nil : entry
      return (isLeft ? nil : plan, old)
    }
    old?.cancel()
    return plan
  }

  /// Logs once that an account cannot be read; the next review tries again.
  private func missed(_ account: AccountID, _ error: UsherError) {
    let isNew = state.withLock { state -> Bool in
      guard !state.isStopped else { return false }
      var entry = state.entries[account] ?? Entry(provider: nil)
      let isNew = !entry.isUnreadable
      entry.isUnreadable = true
      state.entries[account] = entry
      return isNew
    }
    guard isNew else { return }
    log.warning(
      "the tokens of an account cannot be refreshed in the background",
      metadata: ["account": .string(account.rawValue), "cause": .string(error.message)])
  }

  private func setTimer(_ account: AccountID, _ due: Timestamp) {
    let timer = dependencies.scheduler.after(due - dependencies.clock.now()) { [weak self] in
      self?.wake(account)
    }
    let old = state.withLock { state -> ScheduledTimer? in
      guard !state.isStopped, let old = state.entries[account]?.timer else {
        if !state.isStopped { state.entries[account]?.timer = timer }
        return state.isStopped ? timer : nil
      }
      state.entries[account]?.timer = timer
      return old
    }
    old?.cancel()
  }

  private func tell(
    _ what: String, _ account: AccountID,
    _ note: (inout TokenPlan.Progress, Timestamp?) -> Void
  ) {
    guard let record = repository.record(account) else { return }
    state.withLock { state in
      var progress = state.entries[account]?.progress ?? TokenPlan.Progress()
      note(&progress, record.details.grant.refreshExpiresAt)
      state.entries[account]?.progress = progress
    }
    events.publish(.token(what, record, at: dependencies.clock.now()), of: record)
  }

  private func renew(_ account: AccountID) {
    guard let token = repository.record(account).flatMap({ $0.tokens[$0.mainKey] }) else { return }
    let isMine = state.withLock { state in
      guard !state.isStopped, state.entries[account]?.isRenewing == false else { return false }
      state.entries[account]?.isRenewing = true
      return true
    }
    guard isMine else { return }
    Task(executorPreference: dependencies.executor) { [self] in
      var failure: UsherError?
      do throws(UsherError) {
        try await refresher.replace(token.set.accessToken.unsealed(), of: account)
      } catch {
        failure = error
      }
      renewed(account, failure)
    }
  }

  private func renewed(_ account: AccountID, _ failure: UsherError?) {
    let now = dependencies.clock.now()
    let record = repository.record(account)
    state.withLock { state in
      state.entries[account]?.isRenewing = false
      if failure == nil, let record {
        state.entries[account]?.progress.renewed(record, at: now)
      } else {
        state.entries[account]?.progress.failed(at: now)
      }
    }
    if let failure {
      log.notice(
        "a token could not be refreshed before it expires",
        metadata: ["account": .string(account.rawValue), "cause": .string(failure.message)])
    }
    look(at: account)
  }
}
