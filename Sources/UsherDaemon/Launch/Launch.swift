import FoundationEssentials
import Glibc
import Logging
import ServiceLifecycle
import UnixSignals
import UsherConfig
import UsherCore
import UsherSystem

/// The start of the daemon from the command line, with the real dependencies.
package struct Launch: Sendable {
  private let configFile: String?
  private let stateDirectory: String?
  private let socketPath: String?
  private let adminSocketPath: String?
  private let logLevel: String?
  private let wipesFreedMemory: Bool

  /// - Parameter wipesFreedMemory: Whether the process uses the allocator that wipes freed memory;
  ///   if not, a warning is logged.
  package init(
    configFile: String?, stateDirectory: String?, socketPath: String?, adminSocketPath: String?,
    logLevel: String?, wipesFreedMemory: Bool
  ) {
    self.configFile = configFile
    self.stateDirectory = stateDirectory
    self.socketPath = socketPath
    self.adminSocketPath = adminSocketPath
    self.logLevel = logLevel
    self.wipesFreedMemory = wipesFreedMemory
  }

  /// Runs the daemon, and returns after an orderly stop. Ends the process with a message and status
  /// 1 if the daemon cannot start.
  package func run() async {
    // Done first, because an untrapped SIGHUP ends the process.
    let reloadSignals = await Self.reloadSignals()
    do {
      let sockets = try ActivatedSockets.take()
      var setting = try setting(sockets)
      let threshold = LogThreshold(try level(setting.config.log))
      bootstrapLogging(threshold)
      setting.applyLogSettings = { if let level = try? level($0) { threshold.level = level } }
      setting.reloadSignals = reloadSignals
      let log = Logger(label: "usherd")
      setting.log = log
      log.notice("configured", metadata: setting.config.places)
      setting.config.logWarnings(to: log)
      raiseFileLimit()
      setting.descriptors = .ofProcess()
      for weakness in ProcessHardening.apply() { log.warning("\(weakness)") }
      if !wipesFreedMemory {
        log.warning("freed memory is not wiped: another allocator's free is in use")
      }
      var quiet = log
      quiet.logLevel = .warning
      let group = ServiceGroup(
        configuration: .init(
          services: [.init(service: Daemon(setting), successTerminationBehavior: .ignore)],
          gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet))
      signal(SIGPIPE, SIG_IGN)
      try await group.run()
    } catch {
      fail(error)
    }
  }

  /// Returns a stream with one element for each SIGHUP, which requests a reload. Several signals
  /// that arrive during a reload count as one.
  private static func reloadSignals() async -> AsyncStream<Void> {
    let signals = await UnixSignalsSequence(trapping: .sighup)
    let (stream, asking) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    Task { for await _ in signals { asking.yield() } }
    return stream
  }

  /// Returns the settings from command line, environment and configuration files. Blocks.
  ///
  /// - Parameter sockets: The sockets that systemd passed, by name.
  /// - Throws: The problems of the configuration or of the state directory.
  package func setting(_ sockets: [String: CInt] = [:]) throws -> DaemonSetting {
    // Swift looks for the arguments in /proc/self/maps, and finds none if it cannot read that file.
    // Without its arguments the daemon would open another database.
    guard !CommandLine.arguments.isEmpty else {
      throw UsherError(
        .internalError,
        "the command line cannot be read from /proc/self/maps; start usherd again")
    }
    let environment = ProcessInfo.processInfo.environment
    let directories = Directories.defaults(environment: environment, uid: getuid())
    let runtime = directories.runtime
    var setting = DaemonSetting(
      config: try ConfigFiles.load(configFile, environment: environment),
      stateDirectory: stateDirectory ?? directories.state,
      socketPath: socketPath ?? environment["USHER_SOCKET"] ?? "\(runtime)/usherd.sock",
      adminSocketPath: adminSocketPath ?? environment["USHER_ADMIN_SOCKET"]
        ?? "\(runtime)/usherd-admin.sock")
    let file = ConfigFiles.found(configFile, environment: environment) ?? configFile
    setting.reread = { () throws(ConfigError) in
      try ConfigFiles.load(file, environment: environment)
    }
    setting.passedSockets = sockets
    setting.credentials = CredentialsDirectory(environment: environment)
    setting.notifier = .system()
    try makeStateDirectory(setting.stateDirectory)
    return setting
  }

  /// Raises the limit of open files, because the usual 1024 are fewer than the connections and
  /// redirect listeners that the configuration allows.
  private func raiseFileLimit() {
    var limit = rlimit()
    let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(files, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = min(limit.rlim_max, 65_536)
    _ = setrlimit(files, &limit)
  }

  /// Returns the log level from the command line, or else that of the configuration.
  private func level(_ settings: LogSettings) throws -> Logger.Level {
    let levelName = logLevel ?? settings.level.rawValue
    guard let level = Logger.Level(rawValue: levelName) else {
      let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsherError(
        .invalidParams, "log level \(levelName) does not exist; use one of \(levels)")
    }
    return level
  }

  /// Creates the state directory with its parents, because `~/.local/state` may not exist when a
  /// user starts a daemon for the first time.
  private func makeStateDirectory(_ path: String) throws {
    var exists = mkdir(path, 0o700) == 0 || errno == EEXIST
    if !exists, errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
      try makeStateDirectory(String(path[..<slash]))
      exists = mkdir(path, 0o700) == 0 || errno == EEXIST
    }
    guard !exists else { return }
    let reason = String(cString: strerror(errno))
    throw UsherError(
      .storageUnavailable, "the state directory \(path) cannot be created: \(reason)")
  }

  /// Reports why the daemon cannot run, on standard error and in `systemctl status`, and ends the
  /// process.
  func fail(_ error: any Error) -> Never {
    let known = error as? UsherError
    let sentence = known?.message ?? String(describing: error)
    let causeText = known?.cause.map { " (\($0))" } ?? ""
    ServiceNotifier.system().status(sentence)
    // A name from a changed database must not control the terminal. The problems of a
    // configuration, which have a line each, are printable already.
    let text = known == nil ? sentence : Printable.line(sentence + causeText)
    let line = Array("usherd: \(text)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
  }
}
