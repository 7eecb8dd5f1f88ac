import Synchronization
import UsherCore

/// Allows one journal line a minute, however often its cause happens: another user must not be able
/// to fill the journal.
final class RepeatedNotice: Sendable {
  private struct State {
    var last: Timestamp?
    /// How often it happened since the last line.
    var count = 0
  }

  private static let interval = Duration.seconds(60)

  private let clock: any Clock
  private let state = Mutex(State())

  init(_ clock: any Clock) { self.clock = clock }

  /// Counts one more occurrence.
  ///
  /// - Returns: The number of occurrences since the last journal line; nil if no line is due.
  func due() -> Int? {
    let now = clock.monotonicNow()
    return state.withLock { state in
      state.count += 1
      if let last = state.last, now - last < Self.interval { return nil }
      state.last = now
      defer { state.count = 0 }
      return state.count
    }
  }
}
