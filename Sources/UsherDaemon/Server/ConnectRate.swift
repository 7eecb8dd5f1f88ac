import NIOCore

/// Counts connects and forgets them evenly over a second.
///
/// A count that began anew each second would let all connects of a second in together at its beginning.
struct ConnectRate {
  /// When all that has happened is forgotten.
  private var emptyAt: NIODeadline

  init(_ now: NIODeadline) { emptyAt = now }

  func isEmpty(_ now: NIODeadline) -> Bool { emptyAt <= now }

  /// - Returns: Whether it has happened at most so often within a second; only then it counts.
  mutating func add(_ now: NIODeadline, perSecond most: Int) -> Bool {
    let next = max(emptyAt, now) + .nanoseconds(1_000_000_000 / Int64(max(most, 1)))
    guard next <= now + .seconds(1) else { return false }
    emptyAt = next
    return true
  }
}
