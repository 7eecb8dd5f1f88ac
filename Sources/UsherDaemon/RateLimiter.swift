import Synchronization
import UsherCore
import UsherStore

/// Limiter of the calls of one kind per owner and minute, as a token bucket.
final class RateLimiter: Sendable {
  /// The time at which each owner's bucket is full again.
  private let fullTimes = Mutex<[Owner: Timestamp]>([:])

  /// Takes one call from the owner's bucket; returns nil if it is allowed, else the time to wait.
  func acquire(_ owner: Owner, at now: Timestamp, perMinute: Int) -> Duration? {
    let room = Duration.milliseconds(60_000)
    let price = room / max(perMinute, 1)
    return fullTimes.withLock { fullTimes in
      fullTimes = fullTimes.filter { $0.value > now }
      // At most one minute from now, even if the clock was set back.
      let fullAt = min(max(fullTimes[owner] ?? now, now), now + room)
      fullTimes[owner] = fullAt
      let after = fullAt + price
      guard after - now <= room else { return (after - now) - room }
      fullTimes[owner] = after
      return nil
    }
  }
}
