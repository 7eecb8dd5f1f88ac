import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore

/// Looks after tokens though nobody asks: renews those of accounts marked `keepAlive` ahead of their
/// end, and tells owners before a grant dies and when it has.
///
/// One alarm an account, and a look at all of them now and then, for a clock that was set.
final class TokenWatch: Sendable {
  private let world: World
  private let book: AccountBook
  private let refresher: Refresher
  private let events: EventBus
  private let log: Logger
  private let state = Mutex(State())

  private struct State {
    var isStopped = false
    var listener: Int?
    var entries: [AccountID: Entry] = [:]
  }

  private struct Entry {
    var progress = TokenPlan.Progress()
    var alarm: Alarm?
    /// A renewal is under way: its end looks for what comes next.
    var isRenewing = false
  }

  init(
    world: World, book: AccountBook, refresher: Refresher, events: EventBus, log: Logger
  ) {
    self.world = world
    self.book = book
    self.refresher = refresher
    self.events = events
    self.log = log
  }

  /// Begins with the accounts there are; from now on every change of one is followed.
  func start() {
    let listener = events.listen(since: nil) { [weak self] entry in
      guard entry.event.topic == .account, let account = entry.event.account else { return }
      self?.look(at: account)
    }.listener
    state.withLock { $0.listener = listener }
    review()
  }

  /// Looks at every account anew.
  func review() { for record in book.all { look(at: record.id) } }

  /// Looks at every account anew; at those of providers that have changed, as if nothing had failed.
  func review(after changed: Set<ProviderName>) {
    for record in book.all {
      if changed.contains(record.provider) {
        state.withLock { $0.entries[record.id]?.progress.forgetFailures() }
      }
      look(at: record.id)
    }
  }

  /// Nothing begins any more.
  func stop() {
    let (entries, listener) = state.withLock { state in
      state.isStopped = true
      defer { state.entries = [:] }
      return (state.entries.values, state.listener)
    }
    for entry in entries { entry.alarm?.cancel() }
    if let listener { events.stop(listener) }
  }

  /// Does what is due for an account, or sets its alarm for what comes next.
  private func look(at account: AccountID) {
    while let plan = next(account) {
      guard plan.at <= world.clock.now() else { return setAlarm(account, plan.at) }
      switch plan.deed {
      case .renew: return renew(account)
      case .warn: tell("expiring", account) { $0.warnedOf = $1 }
      case .end: tell("dead", account) { $0.endTold = $1 }
      }
    }
  }

  /// Nil where nothing comes next, or where a renewal will look for it.
  private func next(_ account: AccountID) -> TokenPlan? {
    let record = book.record(account)
    // Nothing can be done for one whose provider is gone, or another one, until that is back.
    let isServed =
      record.map { world.settings.inForce.provider($0.provider).map($0.isOf) ?? false } ?? false
    let now = world.clock.now()
    let (plan, old) = state.withLock { state -> (TokenPlan?, Alarm?) in
      guard !state.isStopped, let record else {
        return (nil, state.entries.removeValue(forKey: account)?.alarm)
      }
      var entry = state.entries[account] ?? Entry()
      let old = entry.alarm
      entry.alarm = nil
      state.entries[account] = entry
      guard isServed, !entry.isRenewing else { return (nil, old) }
      let warning = Duration.seconds(world.config.token.grantWarningSeconds)
      return (
        TokenPlan.next(for: record, warning: warning, after: entry.progress, at: now), old
      )
    }
    old?.cancel()
    return plan
  }

  private func setAlarm(_ account: AccountID, _ due: Timestamp) {
    let alarm = world.alarms.after(due - world.clock.now()) { [weak self] in
      self?.look(at: account)
    }
    let old = state.withLock { state -> Alarm? in
      guard !state.isStopped, let old = state.entries[account]?.alarm else {
        if !state.isStopped { state.entries[account]?.alarm = alarm }
        return state.isStopped ? alarm : nil
      }
      state.entries[account]?.alarm = alarm
      return old
    }
    old?.cancel()
  }

  private func tell(
    _ what: String, _ account: AccountID,
    _ note: (inout TokenPlan.Progress, Timestamp?) -> Void
  ) {
    guard let record = book.record(account) else { return }
    state.withLock { state in
      var progress = state.entries[account]?.progress ?? TokenPlan.Progress()
      note(&progress, record.details.grant.refreshExpiresAt)
      state.entries[account]?.progress = progress
    }
    events.publish(.token(what, record, at: world.clock.now()), of: record)
  }

  private func renew(_ account: AccountID) {
    guard let token = book.record(account).flatMap({ $0.tokens[$0.mainKey] }) else { return }
    let isMine = state.withLock { state in
      guard !state.isStopped, state.entries[account]?.isRenewing == false else { return false }
      state.entries[account]?.isRenewing = true
      return true
    }
    guard isMine else { return }
    Task {
      var trouble: UsherError?
      do throws(UsherError) {
        try await refresher.replace(token.set.accessToken.unsealed(), of: account)
      } catch {
        trouble = error
      }
      renewed(account, trouble)
    }
  }

  private func renewed(_ account: AccountID, _ trouble: UsherError?) {
    let now = world.clock.now()
    let record = book.record(account)
    state.withLock { state in
      state.entries[account]?.isRenewing = false
      if trouble == nil, let record {
        state.entries[account]?.progress.renewed(record, at: now)
      } else {
        state.entries[account]?.progress.failed(at: now)
      }
    }
    if let trouble {
      log.notice(
        "a token could not be renewed ahead of its end",
        metadata: ["account": .string(account.rawValue), "cause": .string(trouble.message)])
    }
    look(at: account)
  }
}
