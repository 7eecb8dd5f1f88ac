import UsherCore

/// What is to be done for an account's tokens though nobody asks, and when.
struct TokenPlan: Sendable, Equatable {
  enum Deed: Sendable, Equatable {
    /// Renew the access token, and with it the grant.
    case renew
    /// Tell the owner that the grant is about to die.
    case warn
  }

  let deed: Deed
  let at: Timestamp

  /// How long before the end a token is renewed: a tenth of its life, from a second to a minute.
  static func lead(of processContext: Duration) -> Duration {
    min(max(processContext / 10, .seconds(1)), .seconds(60))
  }

  /// What comes next for an account; nil where nothing does.
  ///
  /// - Parameters:
  ///   - warning: How long before its end the owner is told.
  ///   - progress: What was done already.
  static func next(
    for record: AccountRecord, warning: Duration, after progress: Progress, at now: Timestamp
  ) -> TokenPlan? {
    let grant = record.details.grant
    guard grant.isRenewable else { return nil }
    let end = grant.refreshExpiresAt
    var plans: [TokenPlan] = []
    if let end, progress.warnedOf != end {
      plans.append(TokenPlan(deed: .warn, at: end - warning))
    }
    if record.details.keepAlive, grant.narrowedTo == nil,
      var due = renewal(of: record, end)
    {
      // Issued while the clock was ahead: how long it lives is not known.
      if record.tokens[record.mainKey].map({ $0.issuedAt > now }) == true { due = now }
      plans.append(TokenPlan(deed: .renew, at: max(due, progress.retryAt ?? due)))
    }
    return plans.min { ($0.at, $0.deed.order) < ($1.at, $1.deed.order) }
  }

  /// When its main token is to be renewed, if it is; nil where it never ends.
  static func renewal(of record: AccountRecord, _ end: Timestamp?) -> Timestamp? {
    guard let token = record.tokens[record.mainKey] else { return nil }
    let ends = [token.set.expiresAt, end].compactMap { end in
      end.map { $0 - lead(of: $0 - token.issuedAt) }
    }
    return ends.min()
  }

  /// What was done for an account's tokens, as far as the next deed depends on it.
  struct Progress: Sendable, Equatable {
    /// The end of the grant that the owner was warned of.
    var warnedOf: Timestamp?
    /// When a renewal that failed, or brought nothing of use, is tried again.
    var retryAt: Timestamp?
    var failures = 0

    /// 5, 10, 20, 40, then 60 seconds.
    mutating func failed(at now: Timestamp) {
      retryAt = now + .seconds(min(60, 5 << min(failures, 4)))
      failures += 1
    }

    /// What failed may succeed now.
    mutating func forgetFailures() {
      retryAt = nil
      failures = 0
    }

    /// A token that is due the moment it comes is as good as none: without a pause the provider
    /// would be asked for the next one again and again.
    mutating func renewed(_ record: AccountRecord, at now: Timestamp) {
      let due = TokenPlan.renewal(of: record, record.details.grant.refreshExpiresAt)
      if let due, due <= now { return failed(at: now) }
      retryAt = nil
      failures = 0
    }
  }
}

extension TokenPlan.Deed {
  /// At the same moment: renewing spares the rest.
  fileprivate var order: Int {
    switch self {
    case .renew: 0
    case .warn: 1
    }
  }
}
