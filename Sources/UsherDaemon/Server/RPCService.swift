import JSONRPC
import Logging
import NIOCore
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem

/// What every connection shares: the methods, the limits, the last word on errors.
final class RPCService: Sendable {
  let configStore: ConfigStore
  let events: EventBus
  private let ungatedMethods: UngatedMethods
  private let lockController: LockController
  let dependencies: Dependencies
  private let logger: Logger
  private let longLinesOfUser = AsyncKeyedLock<FairScheduler.Party>()
  private let longLinesOfAll = AsyncKeyedLock<LongLines>()
  private let isDraining = Atomic<Bool>(false)
  private let slowReaders: RepeatedNotice

  init(_ lockController: LockController) {
    self.lockController = lockController
    ungatedMethods = UngatedMethods(lockController)
    events = lockController.processContext.events
    dependencies = lockController.processContext.dependencies
    slowReaders = RepeatedNotice(dependencies.clock)
    configStore = dependencies.configStore
    logger = lockController.processContext.log
  }

  /// As they are in force just now.
  var limits: Limits { configStore.current.config.limits }

  /// What asks before it takes one of the process's last descriptors.
  var descriptors: DescriptorBudget { dependencies.descriptors }

  /// Runs the calls that are not answered where they are read.
  var executor: (any TaskExecutor)? { dependencies.executor }

  /// Which user a subordinate id belongs to.
  var subordinates: SubordinateUserMap { dependencies.subordinates }

  /// Makes what would else be made at the first calls.
  func warm() {
    ungatedMethods.warm()
    lockController.unlocked?.table.warm()
  }

  private enum LongLines { case ofUsers }

  /// Reads a long line when those that came before are read: of each user one at a time, and of all users
  /// together one, for other calls need the same few threads. The admin socket waits for nobody.
  func readLongLine<Value: Sendable>(
    of party: FairScheduler.Party, _ read: @Sendable () throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    try await longLinesOfUser.withLock(party) { () async throws(UsherError) in
      if party == .admin { return try read() }
      return try await longLinesOfAll.withLock(.ofUsers) { () async throws(UsherError) in try read()
      }
    }
  }

  /// From now on calls are refused with `shuttingDown`.
  func drain() { isDraining.store(true, ordering: .releasing) }

  /// Of the lock; nil once calls are refused.
  var generation: Int? { isDraining.load(ordering: .acquiring) ? nil : lockController.generation }

  var now: Timestamp { dependencies.clock.now() }

  var monotonicNow: Timestamp { dependencies.clock.monotonicNow() }

  /// Answers a call whose parameters stand in its line.
  func respond(
    to method: String, params: UnsafeRawBufferPointer?, _ call: Call
  ) throws(UsherError) -> Response {
    let found = try find(method, call.caller)
    return try run(found, try decode(params, of: found.entry, call.caller), call)
  }

  /// Decodes the parameters of a call, for ``respond(to:decoded:_:)``; on any thread.
  ///
  /// - Throws: What the call is to be answered with, also where the caller may not make it.
  func decode(
    _ params: UnsafeRawBufferPointer?, of method: String, _ caller: Caller
  ) throws(UsherError) -> DecodedParams {
    try decode(params, of: try find(method, caller).entry, caller)
  }

  /// Answers a call whose parameters have been decoded.
  func respond(
    to method: String, decoded params: DecodedParams, _ call: Call
  ) throws(UsherError) -> Response {
    try run(try find(method, call.caller), params, call)
  }

  private enum Found {
    /// Answered whether the daemon is locked or not.
    case ungated(MethodEntry)
    case gated(MethodEntry, UnlockedServices)

    var entry: MethodEntry {
      switch self {
      case .ungated(let entry), .gated(let entry, _): entry
      }
    }
  }

  private func find(_ method: String, _ caller: Caller) throws(UsherError) -> Found {
    if isDraining.load(ordering: .acquiring) { throw .stopping }
    let isAdmin = caller.isAdmin
    if let entry = ungatedMethods.entry(method, isAdmin: isAdmin) { return .ungated(entry) }
    guard let unlocked = lockController.unlocked else {
      throw Methods.has(method, isAdmin: isAdmin) ? .locked : Self.noSuchMethod
    }
    guard let entry = unlocked.table.entry(method, isAdmin: isAdmin) else {
      throw Self.noSuchMethod
    }
    return .gated(entry, unlocked)
  }

  /// Rights come first: what a caller may not do is not decoded.
  private func decode(
    _ params: UnsafeRawBufferPointer?, of entry: MethodEntry, _ caller: Caller
  ) throws(UsherError) -> DecodedParams {
    try entry.refuse(params, caller)
    return try entry.decode(params, caller.isAdmin ? .none : ParamsLimit(limits))
  }

  private func run(
    _ found: Found, _ params: DecodedParams, _ call: Call
  ) throws(UsherError) -> Response {
    switch found {
    case .ungated(let entry): try entry.run(params, call)
    case .gated(let entry, let unlocked): try unlocked.run(entry, params, call)
    }
  }

  private static let noSuchMethod = UsherError(
    .methodNotFound, "there is no such method on this socket")

  /// Whether the rules let a caller subscribe that has subscribed under others.
  func mayListen(_ caller: Caller) -> Bool {
    var request = PolicyRequest(method: EventsSubscribe.name)
    request.moment = caller.policy.choosesHours ? dependencies.weekMinute() : nil
    return caller.decide(request).isAllowed
  }

  /// Whether what belongs to the caller is withheld, for its uid was another user's.
  func isWithheld(_ caller: Caller) -> Bool {
    lockController.unlocked?.services.owners.isWithheld(caller.owner) ?? false
  }

  /// An error's reply; the journal gets its cause under the same correlation id.
  func errorReply(_ error: UsherError, _ id: RequestID, _ caller: Caller) -> [UInt8] {
    errorReply(error, id, caller.label)
  }

  func errorReply(_ error: UsherError, _ id: RequestID, _ label: String) -> [UInt8] {
    ReplyEncoder.error(error, id: id, correlation: log(error, label))
  }

  @discardableResult
  func log(_ error: UsherError, _ caller: Caller) -> CorrelationID { log(error, caller.label) }

  private func log(_ error: UsherError, _ label: String) -> CorrelationID {
    let correlation = error.correlationID ?? dependencies.correlationID()
    var metadata: Logger.Metadata = [
      "client": .string(label), "correlationId": .string(correlation.rawValue),
      "reason": .string(error.reason.rawValue),
    ]
    if let flow = error.detail.flow { metadata["flow"] = .string(flow.rawValue) }
    if let cause = error.cause { metadata["cause"] = .string(String(describing: cause)) }
    logger.log(level: error.reason.level, "\(error.message)", metadata: metadata)
    return correlation
  }

  /// - Parameter cause: In the kernel's words.
  func noteFullHouse(_ cause: String) {
    logger.warning("who comes is not let in for now", metadata: ["cause": .string(cause)])
  }

  /// Anybody can cause it at will: the journal tells of it once a minute, with how many there were.
  func noteSlowReader(_ caller: Caller) {
    guard let count = slowReaders.due() else { return }
    logger.notice(
      "a client did not read its replies and was disconnected",
      metadata: ["client": .string(caller.label), "count": "\(count)"])
  }
}

extension UsherError.Reason {
  /// What the daemon did wrong, or cannot do, is worth a line; what a caller did wrong is not.
  fileprivate var level: Logger.Level {
    switch self {
    case .internalError: .error
    case .storageUnavailable, .providerProtocolError: .warning
    case .providerRejected, .providerUnreachable: .info
    // Anybody can cause these at will: they must not flood the journal.
    case .permissionDenied, .overloaded, .parseError, .invalidRequest, .methodNotFound,
      .invalidParams, .cancelled, .rateLimited,
      .messageTooLarge, .shuttingDown, .locked, .deadlineExceeded, .notFound, .conflict,
      .requestIDReused, .interactionRequired, .reauthenticationRequired, .consentRequired,
      .flowFinished, .unexpectedInput, .invalidInput:
      .debug
    }
  }
}
