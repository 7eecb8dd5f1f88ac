import UsherConfig
import UsherCore

/// The providers' refusals of refreshes after which the grants may still be usable. A provider that
/// has refused a token is not asked for it again until `force_refresh_seconds` have passed.
struct RememberedRefusals {
  /// The number of different tokens of one account that may be refused in that time. Further ones
  /// are not requested, since a caller could name new audiences without end.
  static let maxPerAccount = 8

  private struct Refusal {
    let key: TokenKey
    let refreshToken: Sealed<Secret>
    let error: UsherError
    let until: Timestamp
  }

  private var refusals: [AccountID: [Refusal]] = [:]

  mutating func record(
    _ error: UsherError, of account: AccountID, _ key: TokenKey, _ refreshToken: Sealed<Secret>,
    _ dependencies: Dependencies
  ) {
    let now = dependencies.clock.monotonicNow()
    refusals = refusals.mapValues { $0.filter { $0.until > now } }.filter { !$0.value.isEmpty }
    let until = now + .seconds(dependencies.config.limits.forceRefreshSeconds)
    refusals[account, default: []].removeAll { $0.key == key }
    refusals[account, default: []].append(
      Refusal(key: key, refreshToken: refreshToken, error: error, until: until))
  }

  mutating func removeAll(where shouldBeRemoved: (AccountID) -> Bool) {
    refusals = refusals.filter { !shouldBeRemoved($0.key) }
  }

  /// Returns the error for a token that the provider is not asked for now; nil if it may be asked,
  /// or if a new sign-in has brought another refresh token.
  func find(
    of record: AccountRecord, _ key: TokenKey, _ refreshToken: Sealed<Secret>,
    _ dependencies: Dependencies
  ) -> UsherError? {
    let now = dependencies.clock.monotonicNow()
    // The time is limited by the current setting, which may be lower than when `until` was set.
    let limit = Duration.seconds(dependencies.config.limits.forceRefreshSeconds)
    let valid = (refusals[record.id] ?? []).filter { refusal in
      refusal.refreshToken == refreshToken && refusal.until > now && refusal.until - now <= limit
    }
    if let refusal = valid.first(where: { $0.key == key }) { return refusal.error }
    // Tokens that the account already has are not limited by what other callers ask for.
    guard key != record.mainKey, record.tokens[key] == nil, valid.count >= Self.maxPerAccount,
      let end = valid.map(\.until).min()
    else { return nil }
    return UsherError(
      .rateLimited,
      "the provider has refused \(valid.count) other tokens of account \(record.id) just now",
      detail: .init(retryAfterMs: Int((end - now).milliseconds), limit: "force_refresh_seconds"))
  }
}
