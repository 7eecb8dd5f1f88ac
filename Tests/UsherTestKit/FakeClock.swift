import Synchronization
package import UsherCore

/// A clock that stands still until a test moves it.
package final class FakeClock: Clock {
  private let moment: Mutex<Timestamp>
  private let boot = Mutex<BootTime?>(nil)

  /// - Parameter time: 2027-01-15T08:00:00Z where a test does not mind.
  package init(_ time: Timestamp = Timestamp(seconds: 1_800_000_000)) {
    moment = Mutex(time)
  }

  package func now() -> Timestamp { time }

  package func bootTime() -> BootTime? { boot.withLock { $0 } }

  /// What it shows of the clock that nobody sets; nil, as at first, where there is none.
  package func setBootTime(_ time: BootTime?) { boot.withLock { $0 = time } }

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
