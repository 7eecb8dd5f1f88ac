import Glibc
import Synchronization
import Testing

@testable import UsherSystem

@Suite("Notifications to systemd")
struct ServiceNotifierTests {
  private final class Sent: Sendable {
    let messages = Mutex<[String]>([])
    var last: String? { messages.withLock { $0.last } }
  }

  private let sent = Sent()
  private var notifier: ServiceNotifier {
    ServiceNotifier(watchdogInterval: nil) { [sent] message in
      sent.messages.withLock { $0.append(message) }
    }
  }

  @Test("ready and stopping notifications carry a status, whose line breaks are escaped")
  func statuses() {
    notifier.ready(status: "2 providers")
    #expect(sent.last == "READY=1\nSTATUS=2 providers")
    notifier.stopping(status: "3 flows")
    #expect(sent.last == "STOPPING=1\nSTATUS=3 flows")
    notifier.status("x\nREADY=1")
    #expect(sent.last == #"STATUS=x\nREADY=1"#)
  }

  @Test("a notification that extends a timeout carries the time in microseconds")
  func extending() {
    notifier.extendTimeout(by: .milliseconds(1500))
    #expect(sent.last == "EXTEND_TIMEOUT_USEC=1500000")
  }

  @Test("a reload notification carries the monotonic time in microseconds")
  func reloading() throws {
    var before = timespec()
    clock_gettime(CLOCK_MONOTONIC, &before)
    notifier.reloading()
    let message = try #require(sent.last)
    let prefix = "RELOADING=1\nMONOTONIC_USEC="
    try #require(message.hasPrefix(prefix))
    let microseconds = try #require(Int(message.dropFirst(prefix.count)))
    let start = before.tv_sec * 1_000_000 + before.tv_nsec / 1000
    #expect((start...start + 60_000_000).contains(microseconds))
  }

  @Test("notifications reach NOTIFY_SOCKET, and the watchdog interval is half of WATCHDOG_USEC")
  func realSocket() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("notify")
    let manager = try boundSocket(path, type: SOCK_DGRAM)
    defer { close(manager) }
    await #expect(processExitsWith: .success) { [path = path as String] in
      setenv("NOTIFY_SOCKET", path, 1)
      setenv("WATCHDOG_USEC", "30000000", 1)
      setenv("WATCHDOG_PID", "\(getpid())", 1)
      let notifier = ServiceNotifier.system()
      notifier.ready(status: "up")
      notifier.pingWatchdog()
      #expect(notifier.watchdogInterval == .seconds(15))
    }
    #expect(try received(manager) == "READY=1\nSTATUS=up")
    #expect(try received(manager) == "WATCHDOG=1")
  }

  @Test("without NOTIFY_SOCKET notifications do nothing")
  func noManager() async {
    await #expect(processExitsWith: .success) {
      unsetenv("NOTIFY_SOCKET")
      unsetenv("WATCHDOG_USEC")
      let notifier = ServiceNotifier.system()
      notifier.ready(status: "up")
      #expect(notifier.watchdogInterval == nil)
    }
  }

  @Test("a watchdog for another process is ignored")
  func foreignWatchdog() async {
    await #expect(processExitsWith: .success) {
      setenv("WATCHDOG_USEC", "30000000", 1)
      setenv("WATCHDOG_PID", "1", 1)
      #expect(ServiceNotifier.system().watchdogInterval == nil)
    }
  }
}
