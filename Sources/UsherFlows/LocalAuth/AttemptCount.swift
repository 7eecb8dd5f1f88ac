package import UsherCore

/// How often in a row somebody was wrong, and until when no more is looked at.
///
/// Five are free of that; the fifth and each one after it locks for longer than the one before.
package struct AttemptCount: Codable, Sendable, Equatable {
  /// The wrong one that locks first.
  package static let limit = 5
  /// What the fifth, sixth, … costs; all later ones as the last.
  package static let pauses: [Duration] = [
    .seconds(30), .seconds(60), .seconds(300), .seconds(900), .seconds(3600),
  ]

  package private(set) var wrong = 0
  private var lock: Lock?

  private struct Lock: Codable, Sendable, Equatable {
    var until: Timestamp
    /// Milliseconds.
    var length: Int64
  }

  package init() {}

  /// How many more may be wrong before the next lock.
  package var left: Int { max(1, Self.limit - wrong) }

  /// When it opens; nil where it is open.
  ///
  /// The lock is never longer than it was made: where the clock was set back, it begins again.
  package mutating func lockedUntil(at now: Timestamp) -> Timestamp? {
    guard let lock, lock.until > now else { return nil }
    let latest = now + .milliseconds(lock.length)
    if lock.until > latest { self.lock?.until = latest }
    return min(lock.until, latest)
  }

  package mutating func countWrong(at now: Timestamp) {
    wrong += 1
    guard wrong >= Self.limit else { return }
    let pause = Self.pauses[min(wrong - Self.limit, Self.pauses.count - 1)]
    lock = Lock(until: now + pause, length: pause.milliseconds)
  }
}
