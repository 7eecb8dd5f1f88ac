import Synchronization
import UsherCore
import UsherStore

/// Limits calls (flow starts, registration checks) per owner and minute, as a token bucket.
final class RateLimiter: Sendable {
  /// For each owner, the time at which the bucket is full again. A missing owner has a full bucket.
  private let fullTimes = Mutex<[Owner: Timestamp]>([:])

  /// Charges one call to the owner. Returns nil if the call is allowed, else the time after which
  /// it would be.
  func acquire(_ owner: Owner, at now: Timestamp, perMinute: Int) -> Duration? {
    let window = Duration.milliseconds(60_000)
    let price = window / max(perMinute, 1)
    return fullTimes.withLock { fullTimes in
      fullTimes = fullTimes.filter { $0.value > now }
      // The time is at most one minute from now, even if the clock was set back.
      let fullAt = min(max(fullTimes[owner] ?? now, now), now + window)
      fullTimes[owner] = fullAt
      let after = fullAt + price
      guard after - now <= window else { return (after - now) - window }
      fullTimes[owner] = after
      return nil
    }
  }
}
