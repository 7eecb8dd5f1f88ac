import JSONRPC

/// The state of all calls of one connection. It decides which call is sent, and which waiter is
/// resumed with which result.
///
/// Replies come in any order, a call may be given up, and the connection may end at any time. The
/// table nevertheless returns each waiter exactly once.
struct CallTable<Waiter> {
  private enum Call {
    /// The JSON-RPC id is reserved, but the call has not begun.
    case reserved
    /// The program cancelled the call after its JSON-RPC id was reserved and before it was begun;
    /// it will fail with this error.
    case cancelledEarly(any Error)
    /// The call waits to be sent, because the limit of calls in flight is reached.
    case queued([UInt8], Waiter)
    /// The call counts as in flight, but no byte of it has been written yet.
    case aboutToSend(Waiter)
    case inFlight(Waiter)
    /// The call was given up after it was sent. The daemon counts it as in flight until it replies.
    case abandoned

    var waiter: Waiter? {
      switch self {
      case .queued(_, let waiter), .aboutToSend(let waiter), .inFlight(let waiter): waiter
      case .reserved, .cancelledEarly, .abandoned: nil
      }
    }

    var hasBegun: Bool {
      switch self {
      case .reserved, .cancelledEarly: false
      case .queued, .aboutToSend, .inFlight, .abandoned: true
      }
    }
  }

  private enum Phase {
    case open
    /// No further call is sent, but replies still arrive. New calls fail with the error.
    case closing(any Error)
    /// The connection has ended. New calls fail with the error.
    case ended(any Error)
  }

  /// A JSON-RPC request, encoded as the line to send.
  struct Line: Equatable {
    let id: RequestID
    let bytes: [UInt8]
  }

  private let limit: Int
  private var phase = Phase.open
  private var calls: [RequestID: Call] = [:]
  private var queue: [RequestID] = []
  private var inFlight = 0
  private var lastID: Int64 = 0

  /// Creates an empty table.
  ///
  /// - Parameter limit: How many calls may be in flight. Further calls are queued in order.
  init(limit: Int) { self.limit = limit }

  var isOpen: Bool {
    if case .open = phase { true } else { false }
  }

  /// Reserves and returns the id of a call that is about to begin. Ids are never reused.
  mutating func reserve() -> RequestID {
    lastID += 1
    let id = RequestID(lastID)
    calls[id] = .reserved
    return id
  }

  enum BeginOutcome {
    case send
    case wait
    case refuse(Waiter, any Error)
  }

  mutating func begin(_ id: RequestID, line: [UInt8], waiter: Waiter) -> BeginOutcome {
    if case .cancelledEarly(let error) = calls[id] {
      calls[id] = nil
      return .refuse(waiter, error)
    }
    switch phase {
    case .open: break
    case .closing(let error), .ended(let error):
      calls[id] = nil
      return .refuse(waiter, error)
    }
    guard inFlight < limit else {
      calls[id] = .queued(line, waiter)
      queue.append(id)
      return .wait
    }
    calls[id] = .aboutToSend(waiter)
    inFlight += 1
    return .send
  }

  /// Marks a call as in flight, just before its line is written.
  ///
  /// - Returns: False if the line must not be written, because the waiter was resumed already.
  mutating func markSent(_ id: RequestID) -> Bool {
    guard case .aboutToSend(let waiter) = calls[id] else { return false }
    calls[id] = .inFlight(waiter)
    return true
  }

  struct ReplyOutcome {
    /// The waiter of the call that the reply answers; nil if the call was given up.
    var waiter: Waiter?
    /// The line of the queued call that is sent next; nil if there is none.
    var send: Line?
  }

  mutating func replied(_ id: RequestID) -> ReplyOutcome {
    switch calls[id] {
    case .inFlight(let waiter):
      calls[id] = nil
      return ReplyOutcome(waiter: waiter, send: next())
    case .abandoned:
      calls[id] = nil
      return ReplyOutcome(waiter: nil, send: next())
    case .reserved, .cancelledEarly, .queued, .aboutToSend, nil:
      return ReplyOutcome(waiter: nil, send: nil)
    }
  }

  private mutating func next() -> Line? {
    inFlight -= 1
    while !queue.isEmpty {
      let id = queue.removeFirst()
      guard case .queued(let line, let waiter) = calls[id] else { continue }
      calls[id] = .aboutToSend(waiter)
      inFlight += 1
      return Line(id: id, bytes: line)
    }
    return nil
  }

  enum GiveUpOutcome {
    case nothing
    /// Resume the waiter of a call that was not sent, and send the next queued call, if any.
    case resume(Waiter, send: Line?)
    /// Resume the waiter, and tell the daemon to cancel the call.
    case resumeAndCancel(Waiter)
  }

  mutating func giveUp(_ id: RequestID, _ error: any Error) -> GiveUpOutcome {
    switch calls[id] {
    case .reserved:
      calls[id] = .cancelledEarly(error)
      return .nothing
    case .queued(_, let waiter):
      calls[id] = nil
      return .resume(waiter, send: nil)
    case .aboutToSend(let waiter):
      calls[id] = nil
      return .resume(waiter, send: next())
    case .inFlight(let waiter):
      calls[id] = .abandoned
      return .resumeAndCancel(waiter)
    case .cancelledEarly, .abandoned, nil:
      return .nothing
    }
  }

  /// Stops sending calls. Calls that were sent still wait for their replies.
  ///
  /// - Parameters:
  ///   - id: The call whose line could not be sent, if any.
  ///   - error: The error that new calls fail with from now on.
  /// - Returns: The waiters of the calls that were not sent, to be resumed with `error`.
  mutating func stopSending(failing id: RequestID? = nil, _ error: any Error) -> [Waiter] {
    var notSent: [RequestID] = []
    if let id, case .inFlight = calls[id] { notSent = [id] }
    if case .open = phase {
      phase = .closing(error)
      notSent += unsent
      queue = []
    }
    return remove(notSent)
  }

  /// Ends all calls, because the connection has ended.
  ///
  /// - Parameters:
  ///   - error: The error of the calls that were sent.
  ///   - later: The error of the calls that were not sent, and of calls that begin later.
  /// - Returns: All waiters, each with its error.
  mutating func end(
    _ error: any Error, unsent later: any Error
  ) -> [(waiter: Waiter, error: any Error)] {
    if case .ended = phase { return [] }
    phase = .ended(later)
    let left = remove(unsent).map { ($0, later) }
    let sent = remove(calls.filter { $1.hasBegun }.map(\.key)).map { ($0, error) }
    queue = []
    inFlight = 0
    return sent + left
  }

  private var unsent: [RequestID] {
    calls.compactMap { id, call in
      switch call {
      case .queued, .aboutToSend: id
      case .reserved, .cancelledEarly, .inFlight, .abandoned: nil
      }
    }
  }

  private mutating func remove(_ ids: [RequestID]) -> [Waiter] {
    ids.sorted { $0.description < $1.description }.compactMap {
      calls.removeValue(forKey: $0)?.waiter
    }
  }
}
