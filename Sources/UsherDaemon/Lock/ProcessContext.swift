import Logging
import NIOCore
import UsherConfig
import UsherCore
import UsherSystem
import UsherTransport

/// State of the process, without secrets, which exists whether the daemon is locked or not.
struct ProcessContext: Sendable {
  let setting: DaemonSetting
  let dependencies: Dependencies
  let events: EventBus
  let count: ConnectionCount
  let connections = OpenConnections()
  /// The scheduler for calls that wait only for a person or an event. It ends these waits when the
  /// daemon stops.
  let waits: DrainingScheduler
  let policies: PolicyService
  let lastReload = LastReload()
  /// Lock by which reloads of the configuration run one at a time.
  let reloads = AsyncKeyedLock<Reload.LockKey>()
  /// The audit recorder. Events that it receives while the daemon is locked are written once the
  /// store is open again.
  let audit: AuditRecorder
  /// Event loops for requests to providers, for providers' callbacks, and for timers.
  let outside: any EventLoopGroup
  /// Event loops for the listeners to which browsers are redirected. Any local user can reach these
  /// listeners, so nothing else runs on these loops.
  let browsers: any EventLoopGroup
  /// The event loop of the daemon's sockets; nil in tests without sockets.
  private let serving: SocketLoop?
  /// An identifier that changes with every start of the daemon.
  let instanceID: String
  let startedAt: Timestamp
  /// The start time of the daemon by the monotonic clock.
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

  /// Runs `change`, which must not block, on the event loop of the sockets, so that no RPC call
  /// that is answered on that loop sees a partial change.
  func betweenCalls<Value: Sendable>(_ change: @escaping @Sendable () -> Value) async -> Value {
    guard let serving else { return change() }
    return await withCheckedContinuation { continuation in
      let isAccepted = serving.execute { continuation.resume(returning: change()) }
      if !isAccepted { continuation.resume(returning: change()) }
    }
  }
}
