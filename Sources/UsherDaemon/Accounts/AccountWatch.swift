import JSONRPC
import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Background work for accounts: refreshes the tokens of those marked `keepAlive` before they
/// expire, warns owners before a grant expires, asks providers about accounts according to their
/// ``AccountInquiry``, and announces what the providers have decided.
///
/// Accounts with work in the next hour are in memory, each with a timer for its next task. A
/// periodic review covers changes of the wall clock. All other accounts stay on disk
/// (``WakingAccounts``).
final class AccountWatch: ProviderObserver {
  let dependencies: Dependencies
  let repository: AccountRepository
  let calls: AccountCalls
  private let isWithheld: @Sendable (Owner) -> Bool
  private let waking: WakingAccounts
  private let state = Mutex(State())

  private struct State {
    var isStopped = false
    var listener: Int?
    /// The number of rounds so far, of all accounts. A round reads an account and plans its next
    /// task.
    var rounds = 0
    /// The latest round that left its account without an entry. An older round may have read an
    /// older record of that account, and reads its account again.
    var lastDrop = 0
    var entries: [AccountID: Entry] = [:]
  }

  /// The part of an account's state that is not stored on disk.
  struct Entry {
    /// The account's provider; nil if the account could not be read yet.
    var provider: ProviderName?
    var timer: ScheduledTimer?
    /// The latest round that planned the next task. An older one may have read an older record, and
    /// reads the account again.
    var round: Int
    var tokens = TokenPlan.Progress()
    /// Whether a token refresh is in progress; its end schedules the account's next task.
    var isRenewing = false
    /// The account's attributes for which ``inquiryAt`` was planned. Other attributes begin a new
    /// series of inquiries at the provider.
    var attributes: [String: JSONValue] = [:]
    /// When the provider is to be asked.
    var inquiryAt: Timestamp?
    /// Whether an inquiry at the provider is in progress; its end schedules the next one.
    var isAsking = false
    /// Whether the provider or its credential has changed since the inquiry in progress began.
    var isInquiryOutdated = false
    /// Whether asking the provider is pointless until the account, its provider's configuration or
    /// its credential changes, or the daemon restarts.
    var isPollingStopped = false
    /// Whether the account's row failed to decrypt and this has been logged.
    var isUnreadable = false

    /// Whether the entry is kept for what it remembers, although no work is due soon.
    var mustBeKept: Bool {
      tokens != TokenPlan.Progress() || isRenewing || isAsking || isPollingStopped
    }
  }

  /// - Parameter isWithheld: Whether access to an owner's objects is refused at present (see
  ///   ``OwnerRow``). No work is done for such an owner's accounts.
  init(
    dependencies: Dependencies, repository: AccountRepository, calls: AccountCalls,
    isWithheld: @escaping @Sendable (Owner) -> Bool = { _ in false }
  ) {
    self.dependencies = dependencies
    self.repository = repository
    self.calls = calls
    self.isWithheld = isWithheld
    waking = WakingAccounts(store: repository.store, dependencies: dependencies)
    dependencies.configStore.register(self)
  }

  /// Starts to follow changes of accounts. Existing accounts are found by ``review()``.
  func start() {
    waking.advance(lead: warning)
    repository.addObserver { [weak self] in self?.announce($0) }
    let listener = repository.events.listen(since: nil) { [weak self] entry in
      guard entry.event.topic == .account, let account = entry.event.account else { return }
      self?.process(account)
    }.listener
    state.withLock { $0.listener = listener }
  }

  /// Cancels all timers; no further task begins.
  func stop() {
    let (entries, listener) = state.withLock { state in
      state.isStopped = true
      return (exchange(&state.entries, with: [:]).values, state.listener)
    }
    for entry in entries { entry.timer?.cancel() }
    if let listener { repository.events.stop(listener) }
  }

  /// Reviews the accounts in memory, then finds the accounts on disk that need work soon. Called
  /// once a minute.
  func review() async {
    for account in state.withLock({ Array($0.entries.keys) }) where !reviewAccount(account) {
      return
    }
    waking.advance(lead: warning)
    await waking.search(reviewAccount)
  }

  /// Does the same as ``review()``, and forgets earlier failures for accounts of changed providers.
  func providersChanged(_ changed: Set<ProviderName>) async {
    state.withLock { state in
      for (account, entry) in state.entries where entry.provider.map(changed.contains) ?? true {
        state.entries[account]?.tokens.clearFailures()
        state.entries[account]?.isPollingStopped = false
        state.entries[account]?.isInquiryOutdated = entry.isAsking
      }
    }
    await review()
    await waking.searchAgain(changed, reviewAccount)
  }

  /// Reviews accounts whose owners became withheld or are no longer withheld.
  func review(_ accounts: [AccountID]) { for account in accounts { process(account) } }

  /// Publishes an event with the verdict of the provider about an account (such as a GoPay
  /// submission), if `update` has changed it.
  private func announce(_ update: AccountRepository.Update) {
    let record = update.record
    guard update.before?.details.attributes ?? [:] != record.details.attributes, !isStopped,
      let inquiry = inquiry(of: record)
    else { return }
    repository.events.publish(.kyc, inquiry.eventName, record, at: dependencies.clock.now())
    dependencies.log.info(
      "verdict",
      metadata: [
        "account": .string(record.id.rawValue), "provider": .string(record.provider.rawValue),
        "news": .string(inquiry.eventName),
      ])
  }

  /// Begins the due tasks of an account, as ``process(_:)`` does. Returns false after ``stop()``.
  private func reviewAccount(_ account: AccountID) -> Bool {
    process(account)
    return !isStopped
  }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  /// How long before a grant's expiry the owner is warned.
  private var warning: Duration { .seconds(dependencies.config.token.grantWarningSeconds) }

  /// Whether work may be done for an account: its owner is not withheld, and its provider is
  /// configured and unchanged.
  private func isServed(_ record: AccountRecord) -> Bool {
    !isWithheld(record.owner) && provider(of: record) != nil
  }

  /// Returns the inquiry by which the provider is asked for its verdict about the account; nil if
  /// the provider has no inquiries, or access to the owner's objects is refused at present.
  private func inquiry(of record: AccountRecord) -> (any AccountInquiry)? {
    isWithheld(record.owner) ? nil : followUp(of: record) as? any AccountInquiry
  }

  /// Returns an account; nil if it was removed or cannot be read. The next review tries again.
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
        let new = Entry(round: state.lastDrop)
        state.entries[account, default: new].isUnreadable = true
        return true
      }
      guard isNew else { return nil }
      dependencies.log.warning(
        "an account cannot be read, so its tokens are not refreshed in the background",
        metadata: ["account": .string(account.rawValue), "cause": .string(error.message)])
      return nil
    }
  }
}

// The schedule of each account's tasks.
extension AccountWatch {
  fileprivate enum Step {
    case wait(until: Timestamp)
    case warn, renew
    case inquire(any AccountInquiry)
    /// Nothing is to be done.
    case rest
  }

  /// Begins the tasks of an account that are due, and sets the timer for the next one.
  func process(_ account: AccountID) {
    while true {
      // The round begins before the account is read, so a later round never has an older record.
      let round = state.withLock { state in
        state.rounds += 1
        return state.rounds
      }
      guard let record = find(account) else { return }
      switch next(record, round) {
      case .wait(let due)?: return setTimer(account, due, round)
      case .warn?: warn(record)
      case .renew?: renew(record)
      case .inquire(let inquiry)?: inquire(inquiry, about: record)
      case .rest?: return
      case nil: continue
      }
    }
  }

  /// Returns what to do now for an account; nil if it must be read again. Cancels the timer, and
  /// forgets the account if nothing has to be remembered.
  private func next(_ record: AccountRecord, _ round: Int) -> Step? {
    let (now, warning, isServed) = (dependencies.clock.now(), warning, isServed(record))
    let inquiry = inquiry(of: record)
    let (step, old) = state.withLock { state -> (Step?, ScheduledTimer?) in
      guard !state.isStopped else { return (.rest, nil) }
      var entry =
        state.entries[record.id] ?? Entry(provider: record.provider, round: state.lastDrop)
      guard entry.round < round else { return (nil, nil) }
      let old = entry.timer
      (entry.timer, entry.round) = (nil, round)
      entry.update(record, inquiry, at: now)
      let plan =
        isServed && !entry.isRenewing
        ? TokenPlan.next(for: record, warning: warning, after: entry.tokens, at: now) : nil
      let due = [plan?.at, entry.inquiryAt].compactMap(\.self).min()
      let mustBeKept = entry.mustBeKept || (due != nil && waking.covers(record))
      var step = Step.rest
      if mustBeKept, let due {
        let plan = due == plan?.at ? plan : nil
        step = due > now ? .wait(until: due) : entry.begin(plan?.action, record, inquiry)
      }
      state.entries[record.id] = mustBeKept ? entry : nil
      if !mustBeKept { state.lastDrop = round }
      return (step, old)
    }
    old?.cancel()
    return step
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

  /// Handles a timer. Timers fire on the event loop, where an account must not be read from disk.
  private func wake(_ account: AccountID) {
    guard !repository.isInMemory(account) else { return process(account) }
    Task(executorPreference: dependencies.executor) { [weak self] in self?.process(account) }
  }

  /// Records the end of a task, and plans the account's next task.
  func finish(_ account: AccountID, _ record: (inout Entry) -> Void) {
    state.withLock { state in
      guard var entry = state.entries[account] else { return }
      record(&entry)
      state.entries[account] = entry
    }
    process(account)
  }
}

extension AccountWatch.Entry {
  /// Plans the account's next inquiry. New attributes begin a new series of inquiries.
  fileprivate mutating func update(
    _ record: AccountRecord, _ inquiry: (any AccountInquiry)?, at now: Timestamp
  ) {
    let present = inquiry == nil ? [:] : record.details.attributes
    if attributes != present { (attributes, inquiryAt, isPollingStopped) = (present, nil, false) }
    let mayAsk = !isAsking && !isPollingStopped && !record.tokens.isEmpty
    // An inquiry time that has passed means that the inquiry is due. A future time is calculated
    // again, because the wall clock may have been set.
    if !mayAsk || inquiryAt.map({ $0 > now }) ?? true {
      inquiryAt = mayAsk ? inquiry?.nextInquiry(after: now) : nil
    }
  }

  /// Marks the task that is due as begun: the given token task, or with nil the inquiry.
  fileprivate mutating func begin(
    _ action: TokenPlan.Action?, _ record: AccountRecord, _ inquiry: (any AccountInquiry)?
  ) -> AccountWatch.Step {
    switch action {
    case .warn?:
      tokens.warnedOf = record.details.grant.refreshExpiresAt
      return .warn
    case .renew?:
      isRenewing = true
      return .renew
    case nil:
      (isAsking, inquiryAt) = (true, nil)
      return inquiry.map { .inquire($0) } ?? .rest
    }
  }
}
