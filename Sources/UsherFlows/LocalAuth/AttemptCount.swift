package import UsherCore

/// Counts a user's consecutive wrong attempts and locks further attempts for a time.
///
/// The fifth wrong attempt and each later one lock; each lock is longer than the one before.
package struct AttemptCount: Codable, Sendable, Equatable {
  /// The number of wrong attempts at which the first lock starts.
  package static let limit = 5
  /// The duration of the lock after the fifth, sixth, … wrong attempt. The last one applies to all
  /// later ones.
  package static let pauses: [Duration] = [
    .seconds(30), .seconds(60), .seconds(300), .seconds(900), .seconds(3600),
  ]

  package private(set) var wrong = 0
  private var lock: Lock?

  private struct Lock: Codable, Sendable, Equatable {
    var until: Timestamp
    /// The duration of the lock in milliseconds.
    var length: Int64
  }

  package init() {}

  /// The number of wrong attempts until the next lock begins.
  package var left: Int { max(1, Self.limit - wrong) }

  /// Returns when the present lock ends; nil if nothing is locked.
  ///
  /// The lock never lasts longer than its duration: if the clock was set back, the lock starts
  /// again.
  package mutating func lockedUntil(at now: Timestamp) -> Timestamp? {
    guard let lock, lock.until > now else { return nil }
    let latest = now + .milliseconds(lock.length)
    if lock.until > latest { self.lock?.until = latest }
    return min(lock.until, latest)
  }

  package mutating func recordFailure(at now: Timestamp) {
    wrong += 1
    guard wrong >= Self.limit else { return }
    let pause = Self.pauses[min(wrong - Self.limit, Self.pauses.count - 1)]
    lock = Lock(until: now + pause, length: pause.milliseconds)
  }
}
