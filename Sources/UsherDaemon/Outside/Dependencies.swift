import FoundationEssentials
import Glibc
import UsherConfig
import UsherCore
import UsherFlows
import UsherSystem

/// What the daemon depends on outside itself: time, randomness, threads, the user database. Only
/// ``Daemon`` picks the real ones, so that tests and simulations can pick others (decision record
/// 0017).
///
/// A class: it is handed to every part, and a value of this size is slow to copy.
final class Dependencies: Sendable {
  let configStore: ConfigStore
  let clock: any Clock
  let entropy: any Entropy
  /// The only timers of the daemon beside those of its event loops.
  let scheduler: any Scheduler
  /// Runs the daemon's tasks; nil: Swift's global executor. A task that is not a child of another one
  /// does not inherit it: each is started with this one.
  let executor: (any TaskExecutor)?
  /// Runs functions that block.
  let blocking: any BlockingPool
  /// Runs functions that compute for long. Apart from ``blocking``, so that a user database that hangs
  /// does not delay the check of a passcode.
  let computing: any BlockingPool
  let sockets: any LocalSockets
  let users: UserDatabase
  let lookups: UserLookups
  /// The uid that the daemon runs as.
  let daemonUser: UInt32
  /// How many processors the daemon may use; at least 1.
  let processors: Int
  /// How many connections and listeners there may be before the last descriptors are used.
  let descriptors: DescriptorBudget
  /// Whose limits count for subordinate ids, and whose rules these must not escape.
  let subordinates = SubordinateUserMap()

  init(
    configStore: ConfigStore, clock: any Clock, entropy: any Entropy, scheduler: any Scheduler,
    executor: (any TaskExecutor)? = nil, blocking: any BlockingPool = DispatchPool.blocking,
    computing: any BlockingPool = DispatchPool.computing, users: UserDatabase = .system,
    sockets: any LocalSockets = KernelSockets(), daemonUser: UInt32 = getuid(),
    processors: Int = ProcessInfo.processInfo.activeProcessorCount,
    descriptors: DescriptorBudget = .unlimited
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
    lookups = UserLookups(in: users, on: blocking, scheduler: scheduler, executor: executor)
  }

  /// As it is in force just now.
  var config: Config { configStore.current.config }

  /// By which the journal, the audit and the caller know one call.
  func correlationID() -> CorrelationID { CorrelationID(identifier("cor_")) }

  /// The minute of the week that it is where the daemon runs.
  func weekMinute() -> WeekMinute { WeekMinute(clock.now(), by: clock) }

  func moment() -> TransitionContext { TransitionContext(now: clock.now(), entropy: entropy) }

  /// A name nobody can guess: `prefix` and 128 random bits in Crockford's alphabet.
  func identifier(_ prefix: String) -> String {
    let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
    return prefix + String(entropy.bytes(26).map { alphabet[Int($0 & 31)] })
  }
}

extension Dependencies {
  /// The flow that brings an account of a provider, or brings it back.
  ///
  /// - Parameter scope: What its tokens are to be good for.
  func signIn(
    at provider: ProviderName, account: AccountID? = nil, scope: String = ""
  ) -> UsherError.NextFlow? {
    guard let variety = configStore.current.provider(provider)?.settings.variety,
      let flow = ProviderRegistry.signIn(of: variety, isKnown: account != nil)
    else { return nil }
    var grants: [String] = []
    for word in scope.split(separator: " ") {
      guard let grant = ProviderRegistry.grant(String(word), of: variety), !grants.contains(grant)
      else { continue }
      grants.append(grant)
    }
    return .init(
      provider: provider, kind: flow.kind, account: flow.namesAccount ? account : nil,
      grants: grants)
  }
}
