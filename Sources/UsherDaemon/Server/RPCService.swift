import JSONRPC
import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore

/// What every connection shares: the method table, the limits, the last word on errors.
final class RPCService: Sendable {
  let limits: Limits
  let events: EventBus
  private let table: MethodTable
  private let world: World
  private let logger: Logger
  private let isDraining = Mutex(false)

  init(table: MethodTable, events: EventBus, world: World, log: Logger) {
    self.table = table
    self.events = events
    self.world = world
    limits = world.config.limits
    logger = log
  }

  /// From now on calls are refused with `shuttingDown`.
  func drain() { isDraining.withLock { $0 = true } }

  func respond(
    to method: String, params: UnsafeRawBufferPointer?, _ call: Call
  ) throws(UsherError) -> Response {
    if isDraining.withLock({ $0 }) {
      throw UsherError(.shuttingDown, "usherd is stopping", detail: .init(retryAfterMs: 1000))
    }
    guard let entry = table.entry(method, isAdmin: call.caller.isAdmin) else {
      throw UsherError(.methodNotFound, "there is no such method on this socket")
    }
    return try entry.run(try value(params), call)
  }

  private func value(_ params: UnsafeRawBufferPointer?) throws(UsherError) -> JSONValue? {
    guard let params else { return nil }
    do {
      return try JSONValue(parsing: params, limits: JSONLimits(nesting: limits.nesting))
    } catch {
      throw UsherError(.invalidParams, "params: \(error)")
    }
  }

  /// An error's reply; the journal gets its cause under the same correlation id.
  func errorReply(_ error: UsherError, _ id: RequestID, _ caller: Caller) -> [UInt8] {
    ReplyEncoder.error(error, id: id, correlation: log(error, caller))
  }

  @discardableResult
  func log(_ error: UsherError, _ caller: Caller) -> CorrelationID {
    let correlation = CorrelationID(world.identifier("cor_"))
    var metadata: Logger.Metadata = [
      "client": .string(caller.label), "correlationId": .string(correlation.rawValue),
      "reason": .string(error.reason.rawValue),
    ]
    if let cause = error.cause { metadata["cause"] = .string(String(describing: cause)) }
    logger.log(level: error.reason.level, "\(error.message)", metadata: metadata)
    return correlation
  }

  func noteSlowReader(_ caller: Caller) {
    logger.notice(
      "a client did not read its replies and was disconnected",
      metadata: ["client": .string(caller.label)])
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
