import Synchronization
import UsherCore
import UsherStore

/// How many calls of a kind an owner may still make this minute: a bucket that fills steadily.
final class RateLimiter: Sendable {
  private struct Bucket {
    /// When the bucket will be (or was) full again.
    var fullAt: Timestamp
  }

  private let buckets = Mutex<[Owner: Bucket]>([:])

  /// Takes one call; nil when it may be had, else how long to wait for it.
  func take(_ owner: Owner, at now: Timestamp, perMinute: Int) -> Duration? {
    let room = Duration.milliseconds(60_000)
    let price = room / max(perMinute, 1)
    return buckets.withLock { buckets in
      buckets = buckets.filter { $0.value.fullAt > now }
      // Not beyond a minute from now, also where the clock was set back.
      let fullAt = min(max(buckets[owner]?.fullAt ?? now, now), now + room)
      buckets[owner] = Bucket(fullAt: fullAt)
      let after = fullAt + price
      guard after - now <= room else { return (after - now) - room }
      buckets[owner] = Bucket(fullAt: after)
      return nil
    }
  }
}
