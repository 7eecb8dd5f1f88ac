import NIOCore

/// Leaky-bucket counter of connects within one second.
///
/// A counter that is reset each second would admit all connects of a second together at its start.
struct ConnectRate {
  /// The time at which the counter is back to zero.
  private var emptyAt: NIODeadline

  init(_ now: NIODeadline) { emptyAt = now }

  func isEmpty(_ now: NIODeadline) -> Bool { emptyAt <= now }

  /// Counts a connect if the rate allows it.
  ///
  /// - Returns: Whether the rate is at most `most` per second; only then the connect is counted.
  mutating func add(_ now: NIODeadline, perSecond most: Int) -> Bool {
    let next = max(emptyAt, now) + .nanoseconds(1_000_000_000 / Int64(max(most, 1)))
    guard next <= now + .seconds(1) else { return false }
    emptyAt = next
    return true
  }
}
