import Glibc
import Logging
import NIOCore
import UsherConfig
import UsherCore
import UsherFlows
import UsherSystem

/// External dependencies of the daemon: time, randomness, threads, the user database. Only
/// ``Daemon`` chooses the real ones, so tests and simulations can pass others (decision record
/// 0017).
///
/// It is a class, because it is passed to most types and a value of this size is slow to copy.
final class Dependencies: Sendable {
  let configStore: ConfigStore
  let clock: any Clock
  let entropy: any Entropy
  /// The source of all timers of the daemon except those of the sockets' event loop.
  let scheduler: any Scheduler
  /// The executor of the daemon's tasks; nil for Swift's global executor. Unstructured tasks do not
  /// inherit an executor, so each one is started with this executor explicitly.
  let executor: (any TaskExecutor)?
  /// The threads for functions that block.
  let blocking: any BlockingPool
  /// The threads for functions that compute for a long time. They are separate from ``blocking``,
  /// so that a user database that hangs does not delay the check of a passcode.
  let computing: any BlockingPool
  let sockets: LocalSockets
  let users: UserDatabase
  let lookups: UserLookups
  /// The uid as which the daemon runs.
  let daemonUser: UInt32
  /// The number of processors that the daemon may use; at least 1.
  let processors: Int
  /// The budget that reserves some file descriptors for essential uses.
  let descriptors: DescriptorBudget
  let log: Logger
  /// The map from subordinate ids to the users to whom they belong. The limits and rules of these
  /// users apply to callers with such ids.
  let subordinates = SubordinateUserMap()

  init(
    configStore: ConfigStore, clock: any Clock, entropy: any Entropy, scheduler: any Scheduler,
    executor: (any TaskExecutor)? = nil, blocking: any BlockingPool = DispatchPool.blocking,
    computing: any BlockingPool = DispatchPool.computing, users: UserDatabase = .system,
    sockets: LocalSockets = LocalSockets(), daemonUser: UInt32 = getuid(),
    processors: Int, descriptors: DescriptorBudget = .unlimited, log: Logger
  ) {
    self.configStore = configStore
    self.clock = clock
    self.entropy = entropy
    self.scheduler = scheduler
    self.executor = executor
    self.blocking = blocking
    self.computing = computing
    self.users = users
    self.sockets = sockets
    self.daemonUser = daemonUser
    self.processors = processors
    self.descriptors = descriptors
    self.log = log
    lookups = UserLookups(in: users, on: blocking, scheduler: scheduler, executor: executor)
  }

  /// Creates the dependencies from the daemon's settings.
  ///
  /// - Parameter loop: The event loop that runs the scheduler's timers.
  convenience init(
    _ setting: DaemonSetting, _ configStore: ConfigStore, timersOn loop: any EventLoop
  ) {
    self.init(
      configStore: configStore, clock: setting.clock, entropy: setting.entropy,
      scheduler: setting.scheduler(loop), executor: setting.executor, blocking: setting.blocking,
      computing: setting.computing, users: setting.users, sockets: setting.sockets,
      daemonUser: setting.daemonUser, processors: setting.processors,
      descriptors: setting.descriptors, log: setting.log)
  }

  var config: Config { configStore.current.config }

  /// Returns a new identifier by which an RPC call can be found in the journal and the audit log.
  /// The caller receives it with an error.
  func correlationID() -> CorrelationID { CorrelationID(identifier("cor_")) }

  /// Returns the current minute of the week in the daemon's time zone, for policy rules with hours.
  func weekMinute() -> WeekMinute { WeekMinute(clock.now(), by: clock) }

  func transitionContext() -> TransitionContext {
    TransitionContext(now: clock.now(), entropy: entropy)
  }

  /// Returns an unguessable identifier: `prefix` and 130 random bits in Crockford's base 32.
  func identifier(_ prefix: String) -> String {
    let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
    return prefix + String(entropy.bytes(26).map { alphabet[Int($0 & 31)] })
  }
}
