import JSONRPC
import Logging
import NIOCore
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem
import UsherTransport

/// The state that all connections share: methods, limits and error replies. `RequestPipeline.swift`
/// shows how a call is answered.
final class RPCService: Sendable {
  let configStore: ConfigStore
  let events: EventBus
  let table: MethodTable
  let lockController: LockController
  let dependencies: Dependencies
  private let logger: Logger
  private let longLinesOfUser = AsyncKeyedLock<FairScheduler.Party>()
  private let longLinesOfAll = AsyncKeyedLock<LongLines>()
  let isDraining = Atomic<Bool>(false)
  private let slowReaders: RepeatedNotice

  /// - Parameter table: The methods to serve; nil: all methods of the daemon.
  init(_ lockController: LockController, _ table: MethodTable? = nil) {
    self.lockController = lockController
    self.table = table ?? MethodTable(lockController)
    events = lockController.processContext.events
    dependencies = lockController.processContext.dependencies
    slowReaders = RepeatedNotice(dependencies.clock)
    configStore = dependencies.configStore
    logger = lockController.processContext.log
  }

  var limits: Limits { configStore.current.config.limits }

  /// The executor of the tasks of calls that wait.
  var executor: (any TaskExecutor)? { dependencies.executor }

  private enum LongLines { case ofUsers }

  /// Parses a long line after earlier ones: one line at a time for each user, and one at a time for
  /// all users together, because other calls need the same few threads. The admin socket does not
  /// wait for users.
  func readLongLine<Value: Sendable>(
    of party: FairScheduler.Party, _ read: @Sendable () throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    try await longLinesOfUser.withLock(party) { () async throws(UsherError) in
      if party == .admin { return try read() }
      return try await longLinesOfAll.withLock(.ofUsers) { () async throws(UsherError) in try read()
      }
    }
  }

  /// Refuses all calls with `shuttingDown` from now on.
  func drain() { isDraining.store(true, ordering: .releasing) }

  /// The generation of the daemon's lock; nil if calls are refused because the daemon stops.
  var generation: Int? { isDraining.load(ordering: .acquiring) ? nil : lockController.generation }

  var now: Timestamp { dependencies.clock.now() }

  /// Returns whether the current policy rules let a caller keep a subscription that began under
  /// earlier rules.
  func mayListen(_ caller: Caller) -> Bool {
    var request = PolicyRequest(method: EventsSubscribe.name)
    request.weekMinute = caller.policy.choosesHours ? dependencies.weekMinute() : nil
    return caller.decide(request).isAllowed
  }

  /// Whether access to the caller's objects is refused, because its uid belonged to another user.
  func isWithheld(_ caller: Caller) -> Bool {
    lockController.unlocked?.owners.isWithheld(caller.owner) ?? false
  }

  /// Returns the line that replies with an error, and logs the cause under its correlation ID.
  ///
  /// - Parameter label: The caller's name in the journal.
  func errorReply(_ error: UsherError, _ id: RequestID, _ label: String) -> [UInt8] {
    ReplyEncoder.error(error, id: id, correlation: log(error, label))
  }

  @discardableResult
  func log(_ error: UsherError, _ label: String) -> CorrelationID {
    let correlation = error.correlationID ?? dependencies.correlationID()
    var metadata: Logger.Metadata = [
      "client": .string(label), "correlationId": .string(correlation.rawValue),
      "reason": .string(error.reason.rawValue),
    ]
    if let flow = error.detail.flow { metadata["flow"] = .string(flow.rawValue) }
    if let cause = error.cause { metadata["cause"] = .string(String(describing: cause)) }
    logger.log(level: Logger.Level(error.reason.severity), "\(error.message)", metadata: metadata)
    return correlation
  }

  /// Logs that new connections are not accepted for now.
  ///
  /// - Parameter cause: The text of the kernel's error.
  func logNotAccepting(_ cause: String) {
    logger.warning(
      "new connections are not accepted for now", metadata: ["cause": .string(cause)])
  }

  /// Logs that a client was disconnected because it does not read its replies. Any client can cause
  /// this as often as it likes, so at most one entry a minute is logged, with a count.
  func logSlowReader(_ caller: Caller) {
    guard let count = slowReaders.due() else { return }
    logger.notice(
      "a client did not read its replies and was disconnected",
      metadata: ["client": .string(caller.label), "count": "\(count)"])
  }
}

extension Logger.Level {
  fileprivate init(_ severity: UsherError.Reason.Severity) {
    self =
      switch severity {
      case .debug: .debug
      case .info: .info
      case .warning: .warning
      case .error: .error
      }
  }
}
