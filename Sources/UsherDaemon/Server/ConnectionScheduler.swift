import NIOCore
import UsherConfig
import UsherCore

/// Driver of ``FairScheduler``: lets connections work, read and wait. On the event loop of the
/// sockets only.
final class ConnectionScheduler {
  /// Delay between two turns, in which the loop polls for new input; a turn that begins at once
  /// would prevent that.
  private static let pollInterval = TimeAmount.microseconds(10)

  private var share: FairScheduler
  private let configStore: ConfigStore
  /// The configuration generation of the limits in `share`.
  private var generation: Int
  private let loop: SocketLoop
  private var handlers: [FairScheduler.ConnectionID: ConnectionHandler] = [:]
  private var lastConnectionID = 0
  /// The output buffer pool and the list of connections with unsent replies.
  let coalescer = WriteCoalescer()
  private var isSweeping = false
  /// The number of subscriptions per user.
  private var subscriptions: [FairScheduler.Party: Int] = [:]
  private var deliveries: [FairScheduler.Party: Delivery] = [:]
  private var wake: (at: NIODeadline, timer: LoopTimer)?

  /// Connections of one user that have events to send.
  private struct Delivery {
    /// The connections, the longest-waiting first.
    var line: [FairScheduler.ConnectionID] = []
    /// Whether the next slice is scheduled.
    var isPlanned = false
  }

  /// Creates a scheduler; on the loop only.
  init(_ configStore: ConfigStore, on loop: SocketLoop) {
    self.configStore = configStore
    let snapshot = configStore.current
    generation = snapshot.generation
    share = FairScheduler(FairScheduler.Terms(snapshot.config.limits))
    self.loop = loop
    loop.atEndOfIteration { [coalescer] in coalescer.sendAll() }
  }

  /// Applies new limits if the configuration has been reloaded.
  private func applySteps() {
    guard configStore.generation != generation else { return }
    let snapshot = configStore.current
    generation = snapshot.generation
    share.terms = FairScheduler.Terms(snapshot.config.limits)
  }

  /// Whether more than one party is connected to the loop.
  var isShared: Bool { share.isShared }

  /// - Parameter begun: The time at which accepting the connection began.
  func enter(_ handler: ConnectionHandler, since begun: NIODeadline) {
    lastConnectionID += 1
    let now = loop.now
    let cost = cost(since: begun, at: now) + Self.acceptance
    handler.connectionID = lastConnectionID
    handlers[lastConnectionID] = handler
    handler.listens = share.enter(lastConnectionID, of: handler.party, cost: cost, at: now)
    loop.measuresTurns = share.isShared
    plan()
  }

  /// Decides whether a new connection is accepted.
  func comes(
    _ party: FairScheduler.Party, isCrowded: Bool, at now: NIODeadline
  ) -> FairScheduler.ConnectionDecision {
    applySteps()
    return share.comes(party, isCrowded: isCrowded, at: now)
  }

  /// Charges a user for a connect that was refused.
  func refused(_ party: FairScheduler.Party, since begun: NIODeadline) {
    let now = loop.now
    _ = share.chargeConnectAttempt(cost(since: begun, at: now) + Self.acceptance, party, at: now)
  }

  /// The cost of a connection beside the measured time: accepting, registering and closing it.
  private static let acceptance = TimeAmount.microseconds(30)

  func leave(_ handler: ConnectionHandler) {
    guard handlers.removeValue(forKey: handler.connectionID) != nil else { return }
    share.leave(handler.connectionID, of: handler.party, at: loop.now)
    loop.measuresTurns = share.isShared
  }

  /// Returns whether a connection that has received calls works on them at once.
  func mayWork(_ handler: ConnectionHandler) -> Bool {
    applySteps()
    // The usual case must not cost a reading of the clock.
    if !share.isShared, !share.isAwaited { return true }
    defer { plan() }
    return share.called(handler.connectionID, of: handler.party, at: loop.now)
  }

  /// Returns the slice for a connection that starts to work now.
  func slice(for handler: ConnectionHandler) -> Slice {
    switch handler.party {
    case .admin: .endless
    case .user: share.isShared ? Slice(share.terms.slice, since: loop.now) : .alone
    }
  }

  /// Returns the time since `start`, or the processor time of this loop iteration if that is less.
  ///
  /// The loop's thread may have waited for a processor meanwhile. A user must not be throttled for
  /// the load of other processes.
  private func cost(since start: NIODeadline, at now: NIODeadline) -> TimeAmount {
    let time = now - start
    guard time > Self.likelyWaited, loop.measuresTurns else { return time }
    return min(time, ProcessorTime.ofThread() - loop.processorTimeBefore)
  }

  /// Durations up to this are charged without reading the processor time.
  private static let likelyWaited = TimeAmount.microseconds(100)

  /// - Returns: Whether the connection may read.
  func worked(_ handler: ConnectionHandler, _ slice: Slice, leaving rest: FairScheduler.Rest)
    -> Bool
  {
    let now: NIODeadline
    switch (slice.start, rest) {
    case (nil, .nothing), (nil, .blocked): return true
    case (let start?, _): now = max(loop.now, start)
    case (nil, .bytes): now = loop.now
    }
    guard handlers[handler.connectionID] != nil else { return true }
    defer { plan() }
    return share.worked(
      handler.connectionID, of: handler.party,
      since: now - cost(since: slice.start ?? now, at: now),
      leaving: rest, at: now)
  }

  /// Registers a call that waits.
  ///
  /// - Returns: False if its user has too many.
  func began(_ party: FairScheduler.Party) -> Bool {
    applySteps()
    return share.began(of: party, at: loop.now)
  }

  /// Registers a call that waits for the disk.
  func reads(_ party: FairScheduler.Party) { share.reads(of: party, at: loop.now) }

  /// Charges a user for work that no slice measured: `cost` off the loop, and the time on the loop
  /// since `begun`.
  func spent(_ cost: TimeAmount, since begun: NIODeadline, by party: FairScheduler.Party) {
    let now = loop.now
    share.spent(cost + self.cost(since: begun, at: now), by: party, at: now)
  }

  func callEnded(_ party: FairScheduler.Party) { share.callEnded(of: party) }

  private func plan() {
    guard let turn = share.nextTurn() else { return }
    let at = max(turn, loop.now + Self.pollInterval)
    if let wake {
      guard at < wake.at else { return }
      wake.timer.cancel()
    }
    wake = (at, loop.scheduleTask(deadline: at) { [self] in turnCame() })
  }

  private func turnCame() {
    wake = nil
    switch share.next(at: loop.now) {
    case .work(let connectionID): handlers[connectionID]?.takeTurn()
    case .listen(let connectionID, let before):
      before.flatMap { handlers[$0] }?.listens = false
      handlers[connectionID]?.listens = true
    case .wait, .nothing: break
    }
    plan()
  }
}

// Events.
extension ConnectionScheduler {
  /// Counts a new subscription.
  ///
  /// - Returns: False if its user has reached `subscriptions_per_user`.
  func subscribed(_ party: FairScheduler.Party) -> Bool {
    guard party != .admin else { return true }
    let count = subscriptions[party, default: 0]
    guard count < configStore.current.config.limits.subscriptionsPerUser else { return false }
    subscriptions[party] = count + 1
    return true
  }

  func unsubscribed(_ party: FairScheduler.Party) {
    guard let count = subscriptions[party] else { return }
    subscriptions[party] = count > 1 ? count - 1 : nil
  }

  /// Sends a connection's events: one slice at once, unless its user must wait for a turn; the rest
  /// when the user's share has room.
  func deliver(_ handler: ConnectionHandler) {
    let party = handler.party
    var delivery = deliveries[party] ?? Delivery()
    guard handlers[handler.connectionID] != nil, !delivery.line.contains(handler.connectionID)
    else { return }
    delivery.line.append(handler.connectionID)
    deliveries[party] = delivery
    guard !delivery.isPlanned else { return }
    if let turn = share.nextEvents(of: party, isRest: false, at: loop.now) {
      planDelivery(to: party, at: turn)
    } else {
      sendEvents(of: party)
    }
  }

  private func planDelivery(to party: FairScheduler.Party, at turn: NIODeadline) {
    deliveries[party]?.isPlanned = true
    _ = loop.scheduleTask(deadline: max(turn, loop.now + Self.pollInterval)) { [self] in
      deliveries[party]?.isPlanned = false
      sendEvents(of: party)
    }
  }

  private func sendEvents(of party: FairScheduler.Party) {
    let begun = loop.now
    var slice = share.isShared ? Slice(share.terms.slice, since: begun) : .alone
    while !slice.isOver, deliveries[party]?.line.isEmpty == false,
      let connectionID = deliveries[party]?.line.removeFirst()
    {
      guard let handler = handlers[connectionID] else { continue }
      if handler.sendEvents(within: &slice) { deliveries[party]?.line.append(connectionID) }
    }
    spent(.zero, since: begun, by: party)
    guard deliveries[party]?.line.isEmpty == false else {
      deliveries[party] = nil
      return
    }
    let now = loop.now
    planDelivery(to: party, at: share.nextEvents(of: party, isRest: true, at: now) ?? now)
  }
}

// Cached replies.
extension ConnectionScheduler {
  /// Time after which unused cached replies are dropped.
  private static let memory = TimeAmount.minutes(1)

  /// Schedules a check, as a connection has cached a reply, for caches that are no longer used.
  func remember() {
    guard !isSweeping else { return }
    isSweeping = true
    _ = loop.scheduleTask(in: Self.memory) { [self] in sweep() }
  }

  private func sweep() {
    isSweeping = false
    coalescer.releaseBuffers()
    var isAnyLeft = false
    for handler in handlers.values where handler.answers.forgetUnused() { isAnyLeft = true }
    if isAnyLeft { remember() }
  }
}

/// Time for which a connection works before others may. The clock is read only every few calls, and
/// not at all for an endless slice.
struct Slice {
  /// The start of the measured time; nil before the first reading of the clock.
  private(set) var start: NIODeadline?
  private(set) var isOver = false
  private let length: TimeAmount?
  private var effort = 0

  /// Slice for a user that has the loop alone: long enough to cost nothing, short enough not to
  /// delay a new connection.
  static let alone = Slice(length: .milliseconds(2))
  /// Slice without an end, for the admin socket and for refusing calls at the end.
  static let endless = Slice(length: nil)

  private init(length: TimeAmount?) { self.length = length }

  init(_ length: TimeAmount, since start: NIODeadline) {
    self.length = length
    self.start = start
  }

  /// Adds bytes that were read or written; reads the clock every few calls.
  mutating func spend(_ bytes: Int) { spend(effort: bytes + 512) }

  /// Counts one call of a JSON-RPC batch against the time slice, and reads the clock.
  mutating func spendCall() { spend(effort: 2049) }

  /// Adds bytes that were only copied.
  mutating func spendLittle(_ bytes: Int) { spend(effort: bytes / 16) }

  private mutating func spend(effort: Int) {
    guard let length else { return }
    self.effort += effort
    guard self.effort > 2048 else { return }
    self.effort = 0
    let now = SocketLoop.now
    if let start { isOver = now - start >= length } else { start = now }
  }
}
