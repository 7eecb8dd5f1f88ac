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
    case inFlight(Waiter)
    /// Given up after it was sent: the daemon still answers it, and counts it until then.
    case abandoned

    var waiter: Waiter? {
      switch self {
      case .queued(_, let waiter), .inFlight(let waiter): waiter
      case .reserved, .stillborn, .abandoned: nil
      }
    }

    var hasBegun: Bool {
      switch self {
      case .reserved, .stillborn: false
      case .queued, .inFlight, .abandoned: true
      }
    }
  }

  private enum Phase {
    case open
    case ended(any Error)
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
    if case .ended(let error) = phase {
      calls[id] = nil
      return .refuse(waiter, error)
    }
    guard inFlight < limit else {
      calls[id] = .queued(line, waiter)
      queue.append(id)
      return .wait
    }
    calls[id] = .inFlight(waiter)
    inFlight += 1
    return .send
  }

  struct OnReply {
    /// Nil for an answer nobody waits for.
    var waiter: Waiter?
    /// The line of a call whose turn it is now.
    var send: [UInt8]?
  }

  mutating func replied(_ id: RequestID) -> OnReply {
    switch calls[id] {
    case .inFlight(let waiter):
      calls[id] = nil
      return OnReply(waiter: waiter, send: next())
    case .abandoned:
      calls[id] = nil
      return OnReply(waiter: nil, send: next())
    case .reserved, .stillborn, .queued, nil:
      return OnReply(waiter: nil, send: nil)
    }
  }

  private mutating func next() -> [UInt8]? {
    inFlight -= 1
    while !queue.isEmpty {
      let id = queue.removeFirst()
      guard case .queued(let line, let waiter) = calls[id] else { continue }
      calls[id] = .inFlight(waiter)
      inFlight += 1
      return line
    }
    return nil
  }

  enum OnGiveUp {
    case nothing
    case resume(Waiter)
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
      return .resume(waiter)
    case .inFlight(let waiter):
      calls[id] = .abandoned
      return .resumeAndCancel(waiter)
    case .stillborn, .abandoned, nil:
      return .nothing
    }
  }

  /// - Returns: All that wait, to be resumed with `error`.
  mutating func end(_ error: any Error) -> [Waiter] {
    guard case .open = phase else { return [] }
    phase = .ended(error)
    let waiting = calls.sorted { $0.key.description < $1.key.description }.compactMap { $1.waiter }
    calls = calls.filter { !$1.hasBegun }
    queue = []
    inFlight = 0
    return waiting
  }
}
