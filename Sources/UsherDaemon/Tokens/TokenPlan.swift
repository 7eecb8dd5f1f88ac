import UsherCore

/// The next background task for an account's tokens, and the time at which it is due.
struct TokenPlan: Sendable, Equatable {
  /// If two actions are due at the same time, the one declared first runs first: a refresh makes
  /// the warning unnecessary.
  enum Action: Int, Sendable {
    /// Refresh the access token, which also keeps the grant alive.
    case renew
    /// Notify the account's owner that the grant is about to expire.
    case warn
  }

  let action: Action
  let at: Timestamp

  /// Returns how long before its expiry a token is refreshed: a tenth of its lifetime, at least one
  /// second and at most one minute.
  static func margin(of lifetime: Duration) -> Duration {
    min(max(lifetime / 10, .seconds(1)), .seconds(60))
  }

  /// Returns the next background task for an account's tokens; nil if there is none.
  ///
  /// - Parameters:
  ///   - warning: How long before the grant's expiry the owner is notified.
  ///   - progress: The earlier tasks that were done or have failed.
  static func next(
    for record: AccountRecord, warning: Duration, after progress: Progress, at now: Timestamp
  ) -> TokenPlan? {
    let grant = record.details.grant
    guard grant.isRenewable else { return nil }
    let end = grant.refreshExpiresAt
    var plans: [TokenPlan] = []
    if let end, progress.warnedOf != end {
      plans.append(TokenPlan(action: .warn, at: end - warning))
    }
    if record.details.keepAlive, grant.narrowedTo == nil,
      var due = renewal(of: record, end)
    {
      // A future issue time means that the clock was ahead: the remaining lifetime is unknown.
      if record.tokens[record.mainKey].map({ $0.issuedAt > now }) == true { due = now }
      plans.append(TokenPlan(action: .renew, at: max(due, progress.retryAt ?? due)))
    }
    return plans.min { ($0.at, $0.action.rawValue) < ($1.at, $1.action.rawValue) }
  }

  /// Returns the time to refresh the account's main token; nil if the token never expires.
  static func renewal(of record: AccountRecord, _ end: Timestamp?) -> Timestamp? {
    guard let token = record.tokens[record.mainKey] else { return nil }
    let ends = [token.set.expiresAt, end].compactMap { end in
      end.map { $0 - margin(of: $0 - token.issuedAt) }
    }
    return ends.min()
  }

  /// The completed and failed tasks of an account, on which the next task depends.
  struct Progress: Sendable, Equatable {
    /// The expiry of the grant that the last warning to the account's owner named; nil before the
    /// first.
    var warnedOf: Timestamp?
    /// The time at which a refresh is retried that failed or returned a token that was due at once.
    var retryAt: Timestamp?
    var failures = 0

    /// Records a failed refresh and schedules a retry after 5, 10, 20, 40, then 60 seconds.
    mutating func failed(at now: Timestamp) {
      retryAt = now + .seconds(min(60, 5 << min(failures, 4)))
      failures += 1
    }

    /// Clears failed refreshes, because something has changed and the next attempt may succeed.
    mutating func clearFailures() {
      retryAt = nil
      failures = 0
    }

    /// Records a successful refresh. If the new token must be refreshed at once, this counts as a
    /// failure, so that there is a pause: otherwise the provider would be asked again and again.
    mutating func renewed(_ record: AccountRecord, at now: Timestamp) {
      let due = TokenPlan.renewal(of: record, record.details.grant.refreshExpiresAt)
      if let due, due <= now { return failed(at: now) }
      clearFailures()
    }
  }
}
