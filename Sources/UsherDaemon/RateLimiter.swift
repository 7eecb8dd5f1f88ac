import Synchronization
import UsherCore
import UsherStore

/// Limiter of the calls of one kind per owner and minute, as a token bucket.
final class RateLimiter: Sendable {
  private struct Bucket {
    /// The time at which the bucket is full again.
    var fullAt: Timestamp
  }

  private let buckets = Mutex<[Owner: Bucket]>([:])

  /// Takes one call from the owner's bucket; returns nil if it is allowed, else the time to wait.
  func acquire(_ owner: Owner, at now: Timestamp, perMinute: Int) -> Duration? {
    let room = Duration.milliseconds(60_000)
    let price = room / max(perMinute, 1)
    return buckets.withLock { buckets in
      buckets = buckets.filter { $0.value.fullAt > now }
      // At most one minute from now, even if the clock was set back.
      let fullAt = min(max(buckets[owner]?.fullAt ?? now, now), now + room)
      buckets[owner] = Bucket(fullAt: fullAt)
      let after = fullAt + price
      guard after - now <= room else { return (after - now) - room }
      buckets[owner] = Bucket(fullAt: after)
      return nil
    }
  }
}
