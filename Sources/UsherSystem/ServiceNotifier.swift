import CSystemd
import Glibc

/// What the daemon tells the one who started it: sd_notify(3).
///
/// Without `$NOTIFY_SOCKET` every call does nothing, so the daemon need not know whether systemd
/// runs it.
package struct ServiceNotifier: Sendable {
  /// Sends one message of `KEY=value` lines.
  package typealias Send = @Sendable (String) -> Void

  /// How often ``pingWatchdog()`` is to be called: half of `WatchdogSec=`, or nil where systemd
  /// does not watch this process.
  package let watchdogInterval: Duration?

  private let send: Send

  package init(watchdogInterval: Duration?, send: @escaping Send) {
    self.watchdogInterval = watchdogInterval
    self.send = send
  }

  /// The one whose manager is the process environment's.
  package static func system() -> ServiceNotifier {
    var microseconds: UInt64 = 0
    let isWatched = usher_watchdog_enabled(&microseconds) > 0
    return ServiceNotifier(
      watchdogInterval: isWatched ? .microseconds(microseconds / 2) : nil,
      send: { _ = usher_notify($0) })
  }

  /// Sockets answer and the store is open; also what ends a reload.
  package func ready(status: String) {
    send("READY=1\nSTATUS=\(Printable.line(status))")
  }

  /// One line for `systemctl status`. Control characters in it are escaped.
  package func status(_ text: String) {
    send("STATUS=\(Printable.line(text))")
  }

  /// The configuration is being read again; ``ready(status:)`` says when that is over.
  package func reloading() {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let microseconds = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
  }

  /// No new work is taken; what runs is being finished.
  package func stopping(status: String = "Finishing what runs") {
    send("STOPPING=1\nSTATUS=\(Printable.line(status))")
  }

  /// Starting or stopping takes so long from now on; never less than the unit says
  /// (systemd.service(5), `TimeoutStartSec=` and `TimeoutStopSec=`).
  package func extendTimeout(by time: Duration) {
    let (seconds, attoseconds) = time.components
    send("EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)")
  }

  /// The loop that calls this still turns.
  package func pingWatchdog() {
    send("WATCHDOG=1")
  }
}
