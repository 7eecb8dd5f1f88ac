import JSONRPC

/// The calls of one connection: decides who is answered, what is sent, and what is too late.
///
/// A reply may come in any order, a call may be given up at any time, and the connection may end at
/// any time: whatever the order, each waiter is handed back exactly once.
struct CallTable<Waiter> {
  private enum Call {
    /// Has its id and nothing else yet.
    case reserved
    /// Given up before it began.
    case stillborn(any Error)
    /// Not sent yet: enough calls are in flight.
    case queued([UInt8], Waiter)
    /// Its turn has come, and nothing of it has been written yet.
    case leaving(Waiter)
    case inFlight(Waiter)
    /// Given up after it was sent: the daemon still answers it, and counts it until then.
    case abandoned

    var waiter: Waiter? {
      switch self {
      case .queued(_, let waiter), .leaving(let waiter), .inFlight(let waiter): waiter
      case .reserved, .stillborn, .abandoned: nil
      }
    }

    var hasBegun: Bool {
      switch self {
      case .reserved, .stillborn: false
      case .queued, .leaving, .inFlight, .abandoned: true
      }
    }
  }

  private enum Phase {
    case open
    /// Nothing is sent any more; what was sent is answered yet. What begins now is refused with it.
    case closing(any Error)
    /// What begins now is refused with it.
    case ended(any Error)
  }

  /// A call's line.
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

  /// - Parameter limit: Calls in flight; more wait here, in order.
  init(limit: Int) { self.limit = limit }

  var isOpen: Bool {
    if case .open = phase { true } else { false }
  }

  /// An id for a call that is about to begin. Ids are never used twice.
  mutating func reserve() -> RequestID {
    lastID += 1
    let id = RequestID(lastID)
    calls[id] = .reserved
    return id
  }

  enum OnBegin {
    case send
    case wait
    case refuse(Waiter, any Error)
  }

  mutating func begin(_ id: RequestID, line: [UInt8], waiter: Waiter) -> OnBegin {
    if case .stillborn(let error) = calls[id] {
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
    calls[id] = .leaving(waiter)
    inFlight += 1
    return .send
  }

  /// Its line is written now.
  ///
  /// - Returns: False where it must not be: its waiter has been told otherwise.
  mutating func depart(_ id: RequestID) -> Bool {
    guard case .leaving(let waiter) = calls[id] else { return false }
    calls[id] = .inFlight(waiter)
    return true
  }

  struct OnReply {
    /// Nil for an answer nobody waits for.
    var waiter: Waiter?
    /// The line of a call whose turn it is now.
    var send: Line?
  }

  mutating func replied(_ id: RequestID) -> OnReply {
    switch calls[id] {
    case .inFlight(let waiter):
      calls[id] = nil
      return OnReply(waiter: waiter, send: next())
    case .abandoned:
      calls[id] = nil
      return OnReply(waiter: nil, send: next())
    case .reserved, .stillborn, .queued, .leaving, nil:
      return OnReply(waiter: nil, send: nil)
    }
  }

  private mutating func next() -> Line? {
    inFlight -= 1
    while !queue.isEmpty {
      let id = queue.removeFirst()
      guard case .queued(let line, let waiter) = calls[id] else { continue }
      calls[id] = .leaving(waiter)
      inFlight += 1
      return Line(id: id, bytes: line)
    }
    return nil
  }

  enum OnGiveUp {
    case nothing
    /// Nothing of it was sent; with the line of a call that takes its turn.
    case resume(Waiter, send: Line?)
    /// Also tell the daemon that its work is in vain.
    case resumeAndCancel(Waiter)
  }

  mutating func giveUp(_ id: RequestID, _ error: any Error) -> OnGiveUp {
    switch calls[id] {
    case .reserved:
      calls[id] = .stillborn(error)
      return .nothing
    case .queued(_, let waiter):
      calls[id] = nil
      return .resume(waiter, send: nil)
    case .leaving(let waiter):
      calls[id] = nil
      return .resume(waiter, send: next())
    case .inFlight(let waiter):
      calls[id] = .abandoned
      return .resumeAndCancel(waiter)
    case .stillborn, .abandoned, nil:
      return .nothing
    }
  }

  /// The other side hears no more, and answers what it has heard.
  ///
  /// - Parameters:
  ///   - id: A call whose line it has refused.
  ///   - error: What calls are refused with from now on.
  /// - Returns: Those whose call was not heard, to be resumed with `error`.
  mutating func hearsNoMore(refusing id: RequestID? = nil, _ error: any Error) -> [Waiter] {
    var unheard: [RequestID] = []
    if let id, case .inFlight = calls[id] { unheard = [id] }
    if case .open = phase {
      phase = .closing(error)
      unheard += unsent
      queue = []
    }
    return remove(unheard)
  }

  /// - Parameters:
  ///   - error: For the calls that were sent.
  ///   - unsent: For those that were not, and for what begins later.
  /// - Returns: All that wait, each with its error.
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
      case .queued, .leaving: id
      case .reserved, .stillborn, .inFlight, .abandoned: nil
      }
    }
  }

  private mutating func remove(_ ids: [RequestID]) -> [Waiter] {
    ids.sorted { $0.description < $1.description }.compactMap {
      calls.removeValue(forKey: $0)?.waiter
    }
  }
}
