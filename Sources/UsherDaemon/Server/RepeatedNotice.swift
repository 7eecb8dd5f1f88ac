import Synchronization
import UsherCore

/// Allows one log entry a minute, however often its cause occurs: a user must not be able to fill
/// the journal.
final class RepeatedNotice: Sendable {
  private struct State {
    var last: Timestamp?
    /// How often the event occurred since the last log entry about it.
    var count = 0
  }

  private static let interval = Duration.seconds(60)

  private let clock: any Clock
  private let state = Mutex(State())

  init(_ clock: any Clock) { self.clock = clock }

  /// Counts one more occurrence.
  ///
  /// - Returns: The number of occurrences since the last log entry, if an entry is due; else nil.
  func due() -> Int? {
    let now = clock.monotonicNow()
    return state.withLock { state in
      state.count += 1
      if let last = state.last, now - last < Self.interval { return nil }
      state.last = now
      return exchange(&state.count, with: 0)
    }
  }
}
