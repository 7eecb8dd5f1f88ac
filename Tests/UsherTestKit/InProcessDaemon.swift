import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import UsherDaemon
import UsherSystem

/// A daemon in this process: the composition of usherd with its store and real sockets, but without
/// a program to start.
///
/// It cannot be killed, and its callers are this process. A test of a kill or of the identity of
/// callers needs a ``RunningProgram``.
final class InProcessDaemon: Sendable {
  private let group: ServiceGroup
  private let log: OpenLog
  private let end = End()

  /// Starts the daemon and waits until its sockets reply.
  ///
  /// - Throws: ``TestError`` with the reason if it does not start.
  init(
    config: String, state: String, socket: String, adminSocket: String, logLevel: String,
    logPath: String, clock: MovableClock?, messageBus: String?
  ) throws {
    let launch = Launch(
      configFile: config, stateDirectory: state, socketPath: socket,
      adminSocketPath: adminSocket, logLevel: nil, wipesFreedMemory: true)
    let log = try OpenLog(logPath)
    self.log = log
    let threshold = LogThreshold(Logger.Level(rawValue: logLevel) ?? .debug)
    let ready = DispatchSemaphore(value: 0)
    var setting = try launch.setting()
    setting.log = Logger(label: "usherd") { FileLogHandler(log, label: $0, threshold) }
    setting.notifier = ServiceNotifier(watchdogInterval: nil) { message in
      if message.hasPrefix("READY=1") { ready.signal() }
    }
    setting.fingerprints = { FingerprintReader(address: messageBus) }
    let threads = clock?.threads ?? DaemonThreads()
    setting.executor = threads
    setting.passcodeRounds = DaemonUnderTest.passcodeRounds
    if let clock {
      setting.clock = clock
      setting.scheduler = { clock.scheduler(on: $0) }
      setting.timeShift = clock.connectionTimers
    }
    setting.scheduler = { [scheduler = setting.scheduler] in
      HastyScheduler(scheduler: scheduler($0))
    }
    var quiet = setting.log
    quiet.logLevel = .warning
    group = ServiceGroup(
      configuration: .init(
        services: [.init(service: Daemon(setting), successTerminationBehavior: .ignore)],
        logger: quiet))
    Task(executorPreference: threads) { [group, end] in
      do {
        try await group.run()
        end.record(nil)
      } catch {
        end.record(String(describing: error))
        ready.signal()
      }
    }
    guard TestDeadline().isSignalled(ready) else {
      throw TestError("the daemon is not ready within 60 s")
    }
    if let failure = end.failure {
      log.write("usherd: \(failure)\n")
      throw TestError("usherd ended: \(failure)")
    }
  }

  deinit {
    // A test that releases its daemon does not wait for the shutdown.
    Task { [group] in await group.triggerGracefulShutdown() }
  }

  var isRunning: Bool { !end.isReached }

  /// Stops the daemon as SIGTERM does, and waits until it has stopped.
  ///
  /// - Returns: The exit status that the program would have.
  func stop(within seconds: Double) throws -> Int32 {
    Task { [group] in await group.triggerGracefulShutdown() }
    guard end.wait(seconds) else {
      throw TestError("the daemon has not ended within \(seconds) s")
    }
    return end.failure == nil ? 0 : 1
  }

  /// The end of a daemon, with the reason if it failed.
  private final class End: Sendable {
    private let reached = DispatchSemaphore(value: 0)
    private let state = Mutex<(isReached: Bool, failure: String?)>((false, nil))

    var isReached: Bool { state.withLock { $0.isReached } }
    var failure: String? { state.withLock { $0.failure } }

    func record(_ failure: String?) {
      state.withLock { $0 = (true, failure) }
      reached.signal()
    }

    func wait(_ seconds: Double) -> Bool {
      guard TestDeadline(within: seconds).isSignalled(reached) else { return false }
      // Lets the next call of this method return, too.
      reached.signal()
      return true
    }
  }

  /// A file to which log lines are appended.
  private final class OpenLog: Sendable {
    let descriptor: CInt

    init(_ path: String) throws {
      descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw TestError("cannot open the log file \(path)") }
    }

    deinit { close(descriptor) }

    func write(_ text: String) {
      let bytes = Array(text.utf8)
      _ = Foundation.write(descriptor, bytes, bytes.count)
    }
  }

  /// Appends log lines to an open file.
  private struct FileLogHandler: LogHandler {
    private let log: OpenLog
    private var lines: DaemonLogHandler

    init(_ log: OpenLog, label: String, _ threshold: LogThreshold) {
      self.log = log
      lines = DaemonLogHandler(label: label, threshold: threshold, descriptor: log.descriptor)
    }

    var metadata: Logger.Metadata {
      get { lines.metadata }
      set { lines.metadata = newValue }
    }

    var logLevel: Logger.Level {
      get { lines.logLevel }
      set { lines.logLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { lines[metadataKey: key] }
      set { lines[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) { lines.log(event: event) }
  }
}

/// Shortens waits of exactly one second to 20 ms.
///
/// One second is the shortest poll interval and the first delay before a call is retried. The
/// clocks are not moved, so deadlines stay the same.
///
/// The 20 ms are real, so that a test whose subject is not time need not move a clock for each
/// poll. Nothing depends on their length: a test waits until the daemon has polled.
private struct HastyScheduler: Scheduler {
  let scheduler: any Scheduler

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
    scheduler.after(delay == .seconds(1) ? .milliseconds(20) : delay, body)
  }
}
