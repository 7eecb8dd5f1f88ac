import Synchronization
package import UsherCore

/// A clock that stands still until a test moves it.
package final class FakeClock: Clock {
  private let moment: Mutex<Timestamp>

  /// - Parameter time: 2027-01-15T08:00:00Z where a test does not mind.
  package init(_ time: Timestamp = Timestamp(seconds: 1_800_000_000)) {
    moment = Mutex(time)
  }

  package func now() -> Timestamp { time }

  /// What it shows.
  package var time: Timestamp {
    get { moment.withLock { $0 } }
    set { moment.withLock { $0 = newValue } }
  }

  /// Moves it, backwards too: a wall clock may be set.
  package func advance(by duration: Duration) {
    moment.withLock { $0 = $0 + duration }
  }
}
