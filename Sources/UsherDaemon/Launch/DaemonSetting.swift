import FoundationEssentials
import Glibc
package import Logging
package import NIOCore
package import UsherConfig
package import UsherCore
package import UsherSystem
package import UsherTransport

/// Settings and dependencies of the daemon: paths, configuration, and the real implementations of
/// the clock, the disk and so on, which tests replace.
package struct DaemonSetting: Sendable {
  /// The realm (namespace of uids) of this host's users; in future the name of a fleet of hosts.
  static let realm = "host"

  /// The configuration with which the daemon starts.
  package var config: Config
  /// Reads the configuration files again, for a reload. Blocks.
  package var reread: @Sendable () throws(ConfigError) -> Config
  /// Applies the log settings of a new configuration to all loggers.
  package var applyLogSettings: @Sendable (LogSettings) -> Void = { _ in }
  /// Yields one element for each request to reload the configuration (SIGHUP).
  package var reloadSignals = AsyncStream<Void> { $0.finish() }
  /// The directory of the database and, unless systemd passes the master key as a credential, of
  /// the master key file.
  package var stateDirectory: String
  package var socketPath: String
  package var adminSocketPath: String
  /// The sockets that systemd passed, by name. The daemon binds a missing one at its path above.
  package var passedSockets: [String: CInt] = [:]
  package var credentials: CredentialsDirectory?
  package var notifier = ServiceNotifier(watchdogInterval: nil) { _ in }
  package var log = Logger(label: "usherd")
  package var clock: any Clock = SystemClock()
  /// Creates the daemon's scheduler of timers, once, with the event loop that runs the timers.
  package var scheduler: @Sendable (any EventLoop) -> any Scheduler = { EventLoopScheduler(on: $0) }
  /// The shift of the timers on the sockets' event loop, for tests; nil for the machine's clock.
  package var timeShift: LoopTimeShift?
  /// Creates the HTTP transport to providers; called with the event loops that run it.
  package var transport: @Sendable (any EventLoopGroup) -> any ProviderTransport = {
    HTTPClientTransport(on: $0)
  }
  package var disk = Disk()
  package var entropy: any Entropy = SystemEntropy()
  package var users = UserDatabase.system
  package var sockets = LocalSockets()
  /// The uid as which the daemon runs.
  package var daemonUser: UInt32 = getuid()
  /// The number of processors that the daemon may use; at least 1.
  package var processors = ProcessInfo.processInfo.activeProcessorCount
  /// The budget that reserves some file descriptors for essential uses.
  package var descriptors = DescriptorBudget.ofProcess()
  /// Creates the daemon's event loops; called once, with ``timeShift``.
  package var eventLoops: @Sendable (LoopTimeShift?) throws -> EventLoops = {
    try EventLoops(timersMovedBy: $0)
  }
  /// The cost of hashing a new passcode: scrypt's parameter N (RFC 7914).
  package var passcodeRounds = PasscodeCost.rounds
  /// The executor of the daemon's tasks; nil for Swift's global executor.
  package var executor: (any TaskExecutor)?
  /// The threads for functions that block.
  package var blocking: any BlockingPool = DispatchPool.blocking
  /// The threads for functions that compute for a long time, such as hashing a passcode.
  package var computing: any BlockingPool = DispatchPool.computing
  /// Creates the fingerprint reader; called each time the daemon is unlocked.
  package var fingerprints: @Sendable () -> any FingerprintScanning = { FingerprintReader() }

  package init(
    config: Config, stateDirectory: String, socketPath: String, adminSocketPath: String
  ) {
    self.config = config
    reread = { () throws(ConfigError) in config }
    self.stateDirectory = stateDirectory
    self.socketPath = socketPath
    self.adminSocketPath = adminSocketPath
  }

  var databasePath: String {
    switch config.store.url {
    case .sqlite(let path): path.hasPrefix("/") ? path : "\(stateDirectory)/\(path)"
    }
  }

  var hasDatabase: Bool { disk.exists(databasePath) }

  /// Whether `usherctl restore` was interrupted: a restored database is ready to replace the
  /// present one.
  var isBeingRestored: Bool { disk.exists(databasePath + ".restoring") }

  /// Returns the access policy of a configuration. Blocks: looking up the names of users and groups
  /// may take long.
  ///
  /// - Throws: `ConfigError` with the file and line of each user or group that does not exist.
  func policy(of config: Config) throws(ConfigError) -> Policy {
    try Policy(config, daemonUser: daemonUser, names: users.principals)
  }
}
