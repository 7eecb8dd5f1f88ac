import Logging
import NIOCore
import UsherConfig
import UsherCore
import UsherSystem
import UsherTransport

/// State with the lifetime of the process, whether the daemon is locked or not. It holds no secret.
struct ProcessContext: Sendable {
  let setting: DaemonSetting
  let dependencies: Dependencies
  let events: EventBus
  let count: ConnectionCount
  let connections = OpenConnections()
  /// The scheduler of calls that wait only for a person or an event.
  let waits: DrainingScheduler
  let policies: PolicyService
  let lastReload = LastReload()
  /// Lock that makes reloads run one at a time.
  let reloads = AsyncKeyedLock<Reload.Turn>()
  /// The audit recorder. Events that it gets while the daemon is locked are written once there is a
  /// store again.
  let audit: AuditRecorder
  /// Event loops for requests to providers, for providers' callbacks, and for timers.
  let outside: any EventLoopGroup
  /// Event loops for the listeners that browsers are redirected to. Any user can reach these
  /// listeners, so nothing else runs on these loops.
  let browsers: any EventLoopGroup
  /// The event loop of the sockets; nil if there are none.
  private let serving: SocketLoop?
  /// An ID that changes with every start.
  let instanceID: String
  let startedAt: Timestamp
  /// The start time by the monotonic clock.
  let started: Timestamp

  var log: Logger { dependencies.log }

  init(
    _ setting: DaemonSetting, _ dependencies: Dependencies, on outside: any EventLoopGroup,
    browsers: (any EventLoopGroup)? = nil, serving: SocketLoop? = nil
  ) {
    self.setting = setting
    self.dependencies = dependencies
    self.outside = outside
    self.browsers = browsers ?? outside
    self.serving = serving
    waits = DrainingScheduler(dependencies.scheduler)
    startedAt = dependencies.clock.now()
    started = dependencies.clock.monotonicNow()
    instanceID = dependencies.identifier("ins_")
    events = .of(startedAt, dependencies.clock)
    count = ConnectionCount(dependencies.configStore)
    policies = PolicyService(dependencies: dependencies)
    audit = AuditRecorder(dependencies: dependencies)
  }

  /// Runs `change`, which must not block, on the event loop of the sockets, so that no call that is
  /// answered on that loop sees a partial change.
  func betweenCalls<Value: Sendable>(_ change: @escaping @Sendable () -> Value) async -> Value {
    guard let serving else { return change() }
    return await withCheckedContinuation { continuation in
      let isTaken = serving.execute { continuation.resume(returning: change()) }
      if !isTaken { continuation.resume(returning: change()) }
    }
  }
}
