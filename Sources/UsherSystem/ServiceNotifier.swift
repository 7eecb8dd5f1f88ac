import CSystemd
import Glibc

/// Notifies the service manager about the daemon's state: sd_notify(3).
///
/// Without `$NOTIFY_SOCKET` every call does nothing, so the daemon need not know whether it runs
/// under systemd.
package struct ServiceNotifier: Sendable {
  /// Sends one notification: a text of `KEY=value` lines.
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

  /// Reports that the daemon serves its sockets and that the database is open. Also ends a reload
  /// that ``reloading()`` began.
  package func ready(status: String) { send("READY=1\nSTATUS=\(Printable.line(status))") }

  /// Sets the one-line text that `systemctl status` shows. Control characters are escaped.
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

  /// Extends the current start or stop timeout so that it ends no earlier than this time from now.
  /// The unit's own timeout (systemd.service(5), `TimeoutStartSec=` and `TimeoutStopSec=`) is never
  /// shortened.
  package func extendTimeout(by time: Duration) {
    let (seconds, attoseconds) = time.components
    send("EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)")
  }

  /// Reports to systemd's watchdog that the event loop that calls this method is alive.
  package func pingWatchdog() { send("WATCHDOG=1") }
}
