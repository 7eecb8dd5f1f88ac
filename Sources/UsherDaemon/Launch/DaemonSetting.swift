import Glibc
package import Logging
package import NIOCore
package import UsherConfig
package import UsherCore
package import UsherSystem

/// Where things are and what is real; tests choose others.
package struct DaemonSetting: Sendable {
  /// Later the fleet's name.
  static let realm = "host"

  /// With which the daemon begins.
  package var config: Config
  /// Reads it again. Blocks.
  package var reread: @Sendable () throws(ConfigError) -> Config
  /// Has loggers follow what came into force.
  package var follow: @Sendable (LogSettings) -> Void = { _ in }
  /// Each asks for a reload (SIGHUP).
  package var hangUps = AsyncStream<Void> { $0.finish() }
  /// Holds the database and, where systemd hands over no key, the master key.
  package var stateDirectory: String
  package var socketPath: String
  package var adminSocketPath: String
  /// Sockets systemd opened, by name; missing ones are bound at the paths above.
  package var passedSockets: [String: CInt] = [:]
  package var credentials: CredentialsDirectory?
  package var notifier = ServiceNotifier(watchdogInterval: nil) { _ in }
  package var log = Logger(label: "usherd")
  package var clock: any Clock = SystemClock()
  /// Makes what the daemon waits by; called once, with the event loop that is to run it.
  package var scheduler: @Sendable (any EventLoop) -> any Scheduler = { EventLoopScheduler(on: $0) }
  /// Moves the timers of the sockets' loop; nil: they follow this machine's clock.
  package var timeShift: LoopTimeShift?
  /// Makes the way to providers; called with the event loop that is to run it.
  package var transport: @Sendable (any EventLoopGroup) -> any ProviderTransport = {
    HTTPClientTransport(on: $0)
  }
  package var disk: any Disk = LocalDisk()
  package var entropy: any Entropy = SystemEntropy()
  package var users = UserDatabase.system
  package var sockets: any LocalSockets = KernelSockets()
  /// The uid that the daemon runs as.
  package var daemonUser: UInt32 = getuid()
  /// How dear a new passcode's hash is: scrypt's N.
  package var passcodeRounds = PasscodeCost.rounds
  /// Runs the daemon's tasks; nil: Swift's global executor.
  package var executor: (any TaskExecutor)?
  /// Runs functions that block.
  package var blocking: any BlockingPool = DispatchPool.blocking
  /// Runs functions that compute for long.
  package var computing: any BlockingPool = DispatchPool.computing
  /// Makes the fingerprint reader; called each time the daemon is unlocked.
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

  /// Whether there is what `usherctl restore` has yet to put in the place of the database.
  var isBeingRestored: Bool { disk.exists(databasePath + ".restoring") }

  /// Blocks: users' names may be far away.
  ///
  /// - Throws: `ConfigError` naming file and line of a user or group nobody has.
  func policy(of config: Config) throws(ConfigError) -> Policy {
    try Policy(config, daemonUser: daemonUser, names: users.principals)
  }
}
