import FoundationEssentials
import Glibc
package import Logging
package import NIOCore
package import UsherConfig
package import UsherCore
package import UsherSystem
package import UsherTransport

/// Settings and dependencies of the daemon: paths, configuration, and the real implementations,
/// which tests replace.
package struct DaemonSetting: Sendable {
  /// The realm of local users; a fleet's name in the future.
  static let realm = "host"

  /// The configuration with which the daemon starts.
  package var config: Config
  /// Reads the configuration again. Blocks.
  package var reread: @Sendable () throws(ConfigError) -> Config
  /// Applies the log settings of a new configuration to all loggers.
  package var applyLogSettings: @Sendable (LogSettings) -> Void = { _ in }
  /// The requests for a reload (SIGHUP).
  package var hangUps = AsyncStream<Void> { $0.finish() }
  /// The directory of the database and, unless systemd passes one as a credential, of the master
  /// key.
  package var stateDirectory: String
  package var socketPath: String
  package var adminSocketPath: String
  /// The sockets that systemd passed, by name; missing ones are bound at the paths above.
  package var passedSockets: [String: CInt] = [:]
  package var credentials: CredentialsDirectory?
  package var notifier = ServiceNotifier(watchdogInterval: nil) { _ in }
  package var log = Logger(label: "usherd")
  package var clock: any Clock = SystemClock()
  /// Creates the daemon's scheduler; called once, with the event loop that runs it.
  package var scheduler: @Sendable (any EventLoop) -> any Scheduler = { EventLoopScheduler(on: $0) }
  /// The shift of the timers on the sockets' loop; nil if they follow the machine's clock.
  package var timeShift: LoopTimeShift?
  /// Creates the transport to providers; called with the event loops that run it.
  package var transport: @Sendable (any EventLoopGroup) -> any ProviderTransport = {
    HTTPClientTransport(on: $0)
  }
  package var disk: any Disk = LocalDisk()
  package var entropy: any Entropy = SystemEntropy()
  package var users = UserDatabase.system
  package var sockets: any LocalSockets = KernelSockets()
  /// The uid that the daemon runs as.
  package var daemonUser: UInt32 = getuid()
  /// The number of processors that the daemon may use; at least 1.
  package var processors = ProcessInfo.processInfo.activeProcessorCount
  /// The budget that keeps some file descriptors in reserve.
  package var descriptors = DescriptorBudget.ofProcess()
  /// Creates the event loops; called once, with ``timeShift``.
  package var eventLoops: @Sendable (LoopTimeShift?) throws -> EventLoops = {
    try EventLoops(timersMovedBy: $0)
  }
  /// The cost of a new passcode's hash: scrypt's N.
  package var passcodeRounds = PasscodeCost.rounds
  /// The executor of the daemon's tasks; nil for Swift's global executor.
  package var executor: (any TaskExecutor)?
  /// The pool for functions that block.
  package var blocking: any BlockingPool = DispatchPool.blocking
  /// The pool for functions that compute for long.
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

  /// Whether a restored database waits to replace the present one because `usherctl restore` was
  /// interrupted.
  var isBeingRestored: Bool { disk.exists(databasePath + ".restoring") }

  /// Returns the policy of a configuration. Blocks: resolving users' names may take long.
  ///
  /// - Throws: `ConfigError` with the file and line of each user or group that does not exist.
  func policy(of config: Config) throws(ConfigError) -> Policy {
    try Policy(config, daemonUser: daemonUser, names: users.principals)
  }
}
