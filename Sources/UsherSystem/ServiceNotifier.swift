import CSystemd
import Glibc

/// Notifies the service manager about the daemon's state: sd_notify(3).
///
/// Without `$NOTIFY_SOCKET` every call does nothing, so the daemon need not know whether it runs
/// under systemd.
package struct ServiceNotifier: Sendable {
  /// Sends one message of `KEY=value` lines.
  package typealias Send = @Sendable (String) -> Void

  /// How often to call ``pingWatchdog()``: half of `WatchdogSec=`. Nil if systemd does not watch
  /// this process.
  package let watchdogInterval: Duration?

  private let send: Send

  package init(watchdogInterval: Duration?, send: @escaping Send) {
    self.watchdogInterval = watchdogInterval
    self.send = send
  }

  /// Creates a notifier for the systemd socket in the environment variable `NOTIFY_SOCKET`. If the
  /// variable is not set, the notifier sends nothing.
  package static func system() -> ServiceNotifier {
    var microseconds: UInt64 = 0
    let isWatched = usher_watchdog_enabled(&microseconds) > 0
    return ServiceNotifier(
      watchdogInterval: isWatched ? .microseconds(microseconds / 2) : nil,
      send: { _ = usher_notify($0) })
  }

  /// Reports that the sockets are served and the store is open. Also ends a reload.
  package func ready(status: String) { send("READY=1\nSTATUS=\(Printable.line(status))") }

  /// Sets the one-line text of `systemctl status`. Control characters are escaped.
  package func status(_ text: String) { send("STATUS=\(Printable.line(text))") }

  /// Reports that the configuration is being reloaded. ``ready(status:)`` ends the reload.
  package func reloading() {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let microseconds = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
  }

  /// Reports that no new work is accepted and that work in progress is being finished.
  package func stopping(status: String = "Finishing work in progress") {
    send("STOPPING=1\nSTATUS=\(Printable.line(status))")
  }

  /// Extends the start or stop timeout to this time from now. It never becomes shorter than the
  /// unit's own (systemd.service(5), `TimeoutStartSec=` and `TimeoutStopSec=`).
  package func extendTimeout(by time: Duration) {
    let (seconds, attoseconds) = time.components
    send("EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)")
  }

  /// Reports that the calling loop is alive.
  package func pingWatchdog() { send("WATCHDOG=1") }
}
