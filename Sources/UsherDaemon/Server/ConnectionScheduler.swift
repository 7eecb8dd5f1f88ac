import NIOCore
import UsherConfig
import UsherCore

/// Does what ``FairScheduler`` says: lets connections work, listen and wait. On the event loop of the
/// sockets only.
final class ConnectionScheduler {
  /// Between two turns the loop looks for what has come in: a turn that begins at once would not
  /// let it.
  private static let breath = TimeAmount.microseconds(10)

  private var share: FairScheduler
  private let configStore: ConfigStore
  /// Of the settings that ``share`` has its terms of.
  private var generation: Int
  private let loop: SocketLoop
  private var handlers: [FairScheduler.ConnectionID: ConnectionHandler] = [:]
  private var lastConnectionID = 0
  /// Where replies go.
  let coalescer = WriteCoalescer()
  private var isSweeping = false
  /// Subscriptions of each user.
  private var subscriptions: [FairScheduler.Party: Int] = [:]
  private var deliveries: [FairScheduler.Party: Delivery] = [:]
  private var wake: (at: NIODeadline, timer: LoopTimer)?

  /// The connections of one user that have events to send.
  private struct Delivery {
    /// The one that has waited longest first.
    var line: [FairScheduler.ConnectionID] = []
    /// Whether the next slice has a time.
    var isPlanned = false
  }

  /// On the loop.
  init(_ configStore: ConfigStore, on loop: SocketLoop) {
    self.configStore = configStore
    let snapshot = configStore.current
    generation = snapshot.generation
    share = FairScheduler(FairScheduler.Terms(snapshot.config.limits))
    self.loop = loop
    loop.atEachTurnsEnd { [coalescer] in coalescer.sendAll() }
  }

  /// Looks whether a reload has set other limits.
  private func follow() {
    guard configStore.generation != generation else { return }
    let snapshot = configStore.current
    generation = snapshot.generation
    share.terms = FairScheduler.Terms(snapshot.config.limits)
  }

  /// Whether there is anybody to share the loop with.
  var isShared: Bool { share.isShared }

  /// - Parameter begun: When letting it in began.
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

  /// Whether somebody who comes is let in.
  func comes(
    _ party: FairScheduler.Party, isCrowded: Bool, at now: NIODeadline
  ) -> FairScheduler.Welcome {
    follow()
    return share.comes(party, isCrowded: isCrowded, at: now)
  }

  /// Somebody came, and was refused.
  func refused(_ party: FairScheduler.Party, since begun: NIODeadline) {
    let now = loop.now
    _ = share.knocked(cost(since: begun, at: now) + Self.acceptance, party, at: now)
  }

  /// What a connection costs beside what is measured: to accept, to register, to close.
  private static let acceptance = TimeAmount.microseconds(30)

  func leave(_ handler: ConnectionHandler) {
    guard handlers.removeValue(forKey: handler.connectionID) != nil else { return }
    share.leave(handler.connectionID, of: handler.party, at: loop.now)
    loop.measuresTurns = share.isShared
  }

  /// Whether a connection on which calls have come works on them at once.
  func mayWork(_ handler: ConnectionHandler) -> Bool {
    follow()
    // The usual case costs no look at the clock.
    if !share.isShared, !share.isAwaited { return true }
    defer { plan() }
    return share.called(handler.connectionID, of: handler.party, at: loop.now)
  }

  /// How long a connection may work that begins now.
  func slice(for handler: ConnectionHandler) -> Slice {
    switch handler.party {
    case .admin: .endless
    case .user: share.isShared ? Slice(share.terms.slice, since: loop.now) : .alone
    }
  }

  /// Returns the time since `start`, or the processor time of this turn of the loop if that is less.
  ///
  /// The loop's thread may have waited for a processor meanwhile. A user must not be slowed down for
  /// what other processes do.
  private func cost(since start: NIODeadline, at now: NIODeadline) -> TimeAmount {
    let time = now - start
    guard time > Self.likelyWaited, loop.measuresTurns else { return time }
    return min(time, ProcessorTime.ofThread() - loop.processorTimeBefore)
  }

  /// A shorter time is taken as it is.
  private static let likelyWaited = TimeAmount.microseconds(100)

  /// - Returns: Whether the connection listens.
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

  /// A call begins that waits.
  ///
  /// - Returns: False when its user has too many.
  func began(_ party: FairScheduler.Party) -> Bool {
    follow()
    return share.began(of: party, at: loop.now)
  }

  /// A call begins that waits for the disk.
  func reads(_ party: FairScheduler.Party) { share.reads(of: party, at: loop.now) }

  /// Work was done for a user's calls that no slice has measured: beside the loop, and on it since `begun`.
  func spent(_ cost: TimeAmount, since begun: NIODeadline, by party: FairScheduler.Party) {
    let now = loop.now
    share.spent(cost + self.cost(since: begun, at: now), by: party, at: now)
  }

  func landed(_ party: FairScheduler.Party) { share.landed(of: party) }

  private func plan() {
    guard let turn = share.nextTurn() else { return }
    let at = max(turn, loop.now + Self.breath)
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
  /// Counts a subscription in.
  ///
  /// - Returns: False when its user has as many as it may have.
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

  /// Has a connection send its events: at once for a slice, where its user does not wait for a turn;
  /// the rest when its share of the loop has room.
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
    _ = loop.scheduleTask(deadline: max(turn, loop.now + Self.breath)) { [self] in
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

// What connections remember.
extension ConnectionScheduler {
  /// How long answers are remembered that are not asked for.
  private static let memory = TimeAmount.minutes(1)

  /// A connection remembers answers: it is asked after a while whether it needs them.
  func remember() {
    guard !isSweeping else { return }
    isSweeping = true
    _ = loop.scheduleTask(in: Self.memory) { [self] in sweep() }
  }

  private func sweep() {
    isSweeping = false
    coalescer.giveUpRooms()
    var isAnyLeft = false
    for handler in handlers.values where handler.answers.forgetUnused() { isAnyLeft = true }
    if isAnyLeft { remember() }
  }
}

/// How long a connection works before it lets others: measured where that matters, and not at every
/// call.
struct Slice {
  /// Nil where nothing is measured yet.
  private(set) var start: NIODeadline?
  private(set) var isOver = false
  private let length: TimeAmount?
  private var effort = 0

  /// Of who has the loop alone: long enough not to be felt, short enough for one who comes.
  static let alone = Slice(length: .milliseconds(2))
  /// Of who waits for nobody.
  static let endless = Slice(length: nil)

  private init(length: TimeAmount?) { self.length = length }

  init(_ length: TimeAmount, since start: NIODeadline) {
    self.length = length
    self.start = start
  }

  /// So many bytes were read or written; looks at the clock after every few calls.
  mutating func spend(_ bytes: Int) { spend(effort: bytes + 512) }

  /// A call of a batch was made; looks at the clock.
  mutating func spendCall() { spend(effort: 2049) }

  /// So many bytes were only copied.
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
