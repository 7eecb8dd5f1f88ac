import Logging
import NIOCore
import UsherConfig
import UsherCore
import UsherSystem

/// What lives as long as the process, whether the daemon is locked or not. It holds no secret.
struct ProcessContext: Sendable {
  let setting: DaemonSetting
  let dependencies: Dependencies
  let events: EventBus
  let count: ConnectionCount
  let connections = OpenConnections()
  /// Of calls that only wait for a person or an event.
  let waits: DrainingScheduler
  let policies: PolicyService
  let lastReload = LastReload()
  /// Reloads come one after the other.
  let reloads = AsyncKeyedLock<Reload.Turn>()
  /// What it is told while the daemon is locked is written when there is a store again.
  let audit: AuditRecorder
  /// For what goes out to providers and the calls that they make, and for timers.
  let outside: any EventLoopGroup
  /// For the listeners that browsers come back to. Any user can reach them, so nothing else runs on
  /// this loop.
  let browsers: any EventLoopGroup
  /// Of the sockets; nil where there are none.
  private let serving: SocketLoop?
  let log: Logger
  /// Changes with every start.
  let instanceID: String
  let startedAt: Timestamp
  /// By a clock that nobody sets.
  let started: Timestamp

  init(
    _ setting: DaemonSetting, _ dependencies: Dependencies, on outside: any EventLoopGroup,
    browsers: (any EventLoopGroup)? = nil, serving: SocketLoop? = nil, _ log: Logger
  ) {
    self.setting = setting
    self.dependencies = dependencies
    self.outside = outside
    self.browsers = browsers ?? outside
    self.serving = serving
    self.log = log
    waits = DrainingScheduler(dependencies.scheduler)
    startedAt = dependencies.clock.now()
    started = dependencies.clock.monotonicNow()
    instanceID = dependencies.identifier("ins_")
    events = .of(startedAt, dependencies.clock)
    count = ConnectionCount(dependencies.configStore)
    policies = PolicyService(dependencies: dependencies)
    audit = AuditRecorder(dependencies: dependencies, log: log)
  }

  /// Runs `change`, which must not block, on the event loop of the sockets: no call that is answered
  /// where it is read sees one half of it.
  func betweenCalls<Value: Sendable>(_ change: @escaping @Sendable () -> Value) async -> Value {
    guard let serving else { return change() }
    return await withCheckedContinuation { continuation in
      let isTaken = serving.execute { continuation.resume(returning: change()) }
      if !isTaken { continuation.resume(returning: change()) }
    }
  }
}
