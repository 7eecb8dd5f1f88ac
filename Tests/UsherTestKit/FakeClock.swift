import Synchronization
package import UsherCore

/// A clock that changes only when a test changes it.
package final class FakeClock: Clock {
  private let moment: Mutex<Timestamp>
  private let boot = Mutex<BootTime?>(nil)

  /// - Parameter time: The initial time. Default: 2027-01-15T08:00:00Z.
  package init(_ time: Timestamp = Timestamp(seconds: 1_800_000_000)) {
    moment = Mutex(time)
  }

  package func now() -> Timestamp { time }

  package func bootTime() -> BootTime? { boot.withLock { $0 } }

  /// Sets the time since boot, which no user can change; nil, the initial value, if it is unknown.
  package func setBootTime(_ time: BootTime?) { boot.withLock { $0 = time } }

  /// The current time of the clock.
  package var time: Timestamp {
    get { moment.withLock { $0 } }
    set { moment.withLock { $0 = newValue } }
  }

  /// Moves the clock, also backwards, because a wall clock can be set back.
  package func advance(by duration: Duration) {
    moment.withLock { $0 = $0 + duration }
  }
}
