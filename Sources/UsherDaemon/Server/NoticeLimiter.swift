import NIOCore

/// Lets one entry a minute into the journal about what a caller can cause at will, and counts the others.
struct NoticeLimiter {
  private static let interval = TimeAmount.minutes(1)

  private var next: NIODeadline?
  private var count = 0

  /// Records that it happened.
  ///
  /// - Returns: How often it happened since the last entry; nil where no entry is due.
  mutating func record(at now: NIODeadline) -> Int? {
    count += 1
    if let next, now < next { return nil }
    next = now + Self.interval
    defer { count = 0 }
    return count
  }
}
