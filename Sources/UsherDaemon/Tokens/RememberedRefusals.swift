import UsherConfig
import UsherCore

/// The providers' refusals of refreshes after which the grants may still be usable. A provider that
/// has refused is not asked again until `force_refresh_seconds` have passed.
struct RememberedRefusals {
  private struct Refusal {
    let key: TokenKey
    let refreshToken: Sealed<Secret>
    let error: UsherError
    let until: Timestamp
  }

  private var refusals: [AccountID: Refusal] = [:]

  mutating func record(
    _ error: UsherError, of account: AccountID, _ key: TokenKey, _ refreshToken: Sealed<Secret>,
    _ dependencies: Dependencies
  ) {
    let now = dependencies.clock.monotonicNow()
    refusals = refusals.filter { $0.value.until > now }
    let until = now + .seconds(dependencies.config.limits.forceRefreshSeconds)
    refusals[account] = Refusal(key: key, refreshToken: refreshToken, error: error, until: until)
  }

  mutating func removeAll(where shouldBeRemoved: (AccountID) -> Bool) {
    refusals = refusals.filter { !shouldBeRemoved($0.key) }
  }

  /// Returns the remembered refusal; nil if there is none, or if a new sign-in has brought another
  /// refresh token.
  func find(
    of account: AccountID, _ key: TokenKey, _ refreshToken: Sealed<Secret>,
    _ dependencies: Dependencies
  ) -> UsherError? {
    guard let refusal = refusals[account], refusal.key == key,
      refusal.refreshToken == refreshToken
    else { return nil }
    // The time is limited by the current setting, which may be lower than when `until` was set.
    let remaining = refusal.until - dependencies.clock.monotonicNow()
    let applies =
      remaining > .zero && remaining <= .seconds(dependencies.config.limits.forceRefreshSeconds)
    return applies ? refusal.error : nil
  }
}
