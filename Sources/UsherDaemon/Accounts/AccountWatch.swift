import JSONRPC
import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Background work for accounts: refreshes the tokens of those marked `keepAlive` before they
/// expire, warns owners before a grant expires, and asks providers about accounts according to
/// their ``AccountInquiry``.
///
/// Accounts that wake soon are in memory, each with a timer for its next task. A periodic review
/// covers changes of the wall clock. All other accounts stay on disk (``WakingAccounts``).
final class AccountWatch: ProviderObserver {
  let dependencies: Dependencies
  let repository: AccountRepository
  let providers: Providers
  let refresher: Refresher
  let calls: AccountCalls
  let events: EventBus
  private let isWithheld: @Sendable (Owner) -> Bool
  private let waking: WakingAccounts
  private let state = Mutex(State())

  private struct State {
    var isStopped = false
    var listener: Int?
    /// The number of rounds so far, over all accounts. A round reads an account and plans its next
    /// task.
    var rounds = 0
    var entries: [AccountID: Entry] = [:]
  }

  /// The state of an account that is only in memory.
  struct Entry {
    /// Nil if the account could not be read yet.
    var provider: ProviderName?
    var timer: ScheduledTimer?
    /// The latest round that planned the next task. An older one does not change the plan: it may
    /// have read an older record.
    var round = 0
    var tokens = TokenPlan.Progress()
    /// Whether a refresh is in progress; its end schedules the next task.
    var isRenewing = false
    /// The attributes that need no announcement; nil if they are not known.
    var attributes: [String: JSONValue]?
    /// When the provider is to be asked.
    var inquiryAt: Timestamp?
    /// Whether an inquiry is in progress; its end schedules the next one.
    var isAsking = false
    /// Whether asking is pointless until the account changes, its provider changes, or the daemon
    /// restarts.
    var isHopeless = false
    /// Whether the account's row failed to decrypt and that has been logged.
    var isUnreadable = false

    /// Whether this entry is kept although the account has no task soon.
    var isKept: Bool { tokens != TokenPlan.Progress() || isRenewing || isAsking || isHopeless }
  }

  /// - Parameter isWithheld: Whether an owner is withheld; such an owner's accounts are left alone.
  init(
    dependencies: Dependencies, repository: AccountRepository, providers: Providers,
    refresher: Refresher, calls: AccountCalls, events: EventBus,
    isWithheld: @escaping @Sendable (Owner) -> Bool = { _ in false }
  ) {
    self.dependencies = dependencies
    self.repository = repository
    self.providers = providers
    self.refresher = refresher
    self.calls = calls
    self.events = events
    self.isWithheld = isWithheld
    waking = WakingAccounts(store: repository.store, dependencies: dependencies)
    dependencies.configStore.register(self)
  }

  /// Starts to follow changes of accounts. Existing accounts are found by ``review()`` and are not
  /// announced again.
  func start() {
    waking.advance(lead: warning)
    repository.addObserver { [weak self] update in
      self?.recall(update.before?.details.attributes ?? [:], of: update.record)
    }
    let listener = events.listen(since: nil) { [weak self] entry in
      guard entry.event.topic == .account, let account = entry.event.account else { return }
      self?.look(at: account)
    }.listener
    state.withLock { $0.listener = listener }
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

  /// Reviews the accounts in memory, then finds those on disk that wake soon.
  func review() async {
    for account in state.withLock({ Array($0.entries.keys) }) where !isReviewed(account) { return }
    waking.advance(lead: warning)
    await waking.search(isReviewed)
  }

  /// Does the same as ``review()``; also forgets earlier failures of accounts of changed providers.
  func providersChanged(_ changed: Set<ProviderName>) async {
    state.withLock { state in
      for (account, entry) in state.entries where entry.provider.map(changed.contains) ?? true {
        state.entries[account]?.tokens.forgetFailures()
        state.entries[account]?.isHopeless = false
      }
    }
    await review()
    await waking.searchAgain(changed, isReviewed)
  }

  /// Reviews accounts whose owners became withheld or are no longer withheld.
  func review(_ accounts: [AccountID]) { for account in accounts { _ = isReviewed(account) } }

  /// Reviews an account without announcing its present state. Returns false after ``stop()``.
  private func isReviewed(_ account: AccountID) -> Bool {
    if let record = find(account) {
      recall(record.details.attributes, of: record)
      look(at: account)
    }
    return state.withLock { !$0.isStopped }
  }

  /// Remembers attributes of an account that need no announcement, unless some are remembered.
  private func recall(_ attributes: [String: JSONValue], of record: AccountRecord) {
    guard inquiry(of: record) != nil else { return }
    state.withLock { state in
      guard !state.isStopped, state.entries[record.id]?.attributes == nil else { return }
      state.entries[record.id, default: Entry(provider: record.provider)].attributes = attributes
    }
  }

  /// How long before a grant's expiry the owner is warned.
  private var warning: Duration { .seconds(dependencies.config.token.grantWarningSeconds) }

  /// Whether work may be done for an account. If its provider is missing or has changed, nothing
  /// can be done until that is back.
  private func isServed(_ record: AccountRecord) -> Bool {
    !isWithheld(record.owner) && provider(of: record) != nil
  }

  /// Returns the account's inquiry; nil if there is none or the owner is withheld.
  private func inquiry(of record: AccountRecord) -> (any AccountInquiry)? {
    isWithheld(record.owner) ? nil : followUp(of: record) as? any AccountInquiry
  }

  /// Returns an account; nil if it is gone or cannot be read; the next review tries again.
  private func find(_ account: AccountID) -> AccountRecord? {
    do throws(UsherError) {
      let record = try repository.find(account)
      let timer = state.withLock { state -> ScheduledTimer? in
        state.entries[account]?.isUnreadable = false
        return record == nil ? state.entries.removeValue(forKey: account)?.timer : nil
      }
      timer?.cancel()
      return record
    } catch {
      let isNew = state.withLock { state -> Bool in
        guard !state.isStopped, state.entries[account]?.isUnreadable != true else { return false }
        state.entries[account, default: Entry()].isUnreadable = true
        return true
      }
      guard isNew else { return nil }
      dependencies.log.warning(
        "an account cannot be read for its background work",
        metadata: ["account": .string(account.rawValue), "cause": .string(error.message)])
      return nil
    }
  }
}

// The schedule.
extension AccountWatch {
  fileprivate enum Step {
    case wait(until: Timestamp)
    case warn, renew
    case ask(any AccountInquiry)
  }

  /// Announces changes of an account, begins the tasks that are due, and sets the timer for the
  /// next one.
  func look(at account: AccountID) {
    while true {
      // Begins before the account is read, so that a later round reads no older record.
      let round = state.withLock { state in
        state.rounds += 1
        return state.rounds
      }
      guard let record = find(account) else { return }
      let inquiry = inquiry(of: record)
      let (step, isNews) = next(record, inquiry, round)
      if isNews, let inquiry { announce(record, inquiry) }
      switch step {
      case .wait(let due)?: return setTimer(account, due, round)
      case .warn?: warn(record)
      case .renew?: renew(record)
      case .ask(let inquiry)?: ask(inquiry, about: record)
      case nil: return
      }
    }
  }

  /// Returns what to do now for an account, nil if nothing, and whether its attributes are news.
  /// Cancels the timer, and forgets the account if nothing has to be remembered.
  private func next(
    _ record: AccountRecord, _ inquiry: (any AccountInquiry)?, _ round: Int
  ) -> (step: Step?, isNews: Bool) {
    let (now, warning, isServed) = (dependencies.clock.now(), warning, isServed(record))
    let (step, isNews, old) = state.withLock { state -> (Step?, Bool, ScheduledTimer?) in
      var entry = state.entries[record.id] ?? Entry(provider: record.provider)
      guard !state.isStopped, entry.round < round else { return (nil, false, nil) }
      let old = entry.timer
      (entry.timer, entry.round) = (nil, round)
      let isNews = entry.follow(record, inquiry, isServed: isServed, at: now)
      let plan =
        isServed && !entry.isRenewing
        ? TokenPlan.next(for: record, warning: warning, after: entry.tokens, at: now) : nil
      let due = [plan?.at, entry.inquiryAt].compactMap(\.self).min()
      let isKept = entry.isKept || (due != nil && waking.haveFound(record))
      var step: Step?
      if isKept, let due {
        let plan = due == plan?.at ? plan : nil
        step = due > now ? .wait(until: due) : entry.begin(plan?.action, record, inquiry)
      }
      state.entries[record.id] = isKept ? entry : nil
      return (step, isNews, old)
    }
    old?.cancel()
    return (step, isNews)
  }

  private func setTimer(_ account: AccountID, _ due: Timestamp, _ round: Int) {
    let timer = dependencies.scheduler.after(due - dependencies.clock.now()) { [weak self] in
      self?.wake(account)
    }
    let old = state.withLock { state -> ScheduledTimer? in
      guard !state.isStopped, state.entries[account]?.round == round else { return timer }
      defer { state.entries[account]?.timer = timer }
      return state.entries[account]?.timer
    }
    old?.cancel()
  }

  /// Handles a timer on the event loop, where an account must not be read from disk.
  private func wake(_ account: AccountID) {
    guard !repository.holds(account) else { return look(at: account) }
    Task(executorPreference: dependencies.executor) { [weak self] in self?.look(at: account) }
  }

  /// Records the end of a task, and looks at the account again.
  func finish(_ account: AccountID, _ record: (inout Entry) -> Void) {
    state.withLock { state in
      guard var entry = state.entries[account] else { return }
      record(&entry)
      state.entries[account] = entry
    }
    look(at: account)
  }
}

extension AccountWatch.Entry {
  /// Remembers the account's attributes, and plans its next inquiry.
  ///
  /// - Returns: Whether the attributes have to be announced.
  fileprivate mutating func follow(
    _ record: AccountRecord, _ inquiry: (any AccountInquiry)?, isServed: Bool, at now: Timestamp
  ) -> Bool {
    // Nil if the account is not served: once it is served again, the same attributes are no news.
    let present: [String: JSONValue]? =
      if inquiry != nil { record.details.attributes } else if isServed { [:] } else { nil }
    let isNews = inquiry != nil && attributes != present
    if attributes != present { (attributes, inquiryAt, isHopeless) = (present, nil, false) }
    let mayAsk = !isAsking && !isHopeless && !record.tokens.isEmpty
    // A time that has passed is due. Any other is calculated again: the clock may have been set.
    if !mayAsk || inquiryAt.map({ $0 > now }) ?? true {
      inquiryAt = mayAsk ? inquiry?.nextInquiry(after: now) : nil
    }
    return isNews
  }

  /// Marks the task that is due as begun: that of the tokens, or nil for the inquiry.
  fileprivate mutating func begin(
    _ action: TokenPlan.Action?, _ record: AccountRecord, _ inquiry: (any AccountInquiry)?
  ) -> AccountWatch.Step? {
    switch action {
    case .warn?:
      tokens.warnedOf = record.details.grant.refreshExpiresAt
      return .warn
    case .renew?:
      isRenewing = true
      return .renew
    case nil:
      (isAsking, inquiryAt) = (true, nil)
      return inquiry.map { .ask($0) }
    }
  }
}
