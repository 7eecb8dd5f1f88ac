import NIOCore

/// Leaky bucket that limits the connects of one user per second.
///
/// A counter that is reset each second would admit all connects of a second together at its start.
struct ConnectRate {
  /// The time at which the bucket is empty again.
  private var emptyAt: NIODeadline

  init(_ now: NIODeadline) { emptyAt = now }

  func isEmpty(_ now: NIODeadline) -> Bool { emptyAt <= now }

  /// Counts a connect if the rate is at most `most` connects per second.
  ///
  /// - Returns: Whether the connect is within the rate; if not, it is not counted.
  mutating func add(_ now: NIODeadline, perSecond most: Int) -> Bool {
    let next = max(emptyAt, now) + .nanoseconds(1_000_000_000 / Int64(max(most, 1)))
    guard next <= now + .seconds(1) else { return false }
    emptyAt = next
    return true
  }
}
