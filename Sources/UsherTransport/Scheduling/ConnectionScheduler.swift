package import NIOCore

/// Connection whose work, input and events a ``ConnectionScheduler`` controls. Used on the event
/// loop only.
package protocol ScheduledConnection: AnyObject {
  /// The number under which the scheduler knows the connection; only the scheduler sets it.
  var connectionID: FairScheduler.ConnectionID { get set }
  /// The user, or the admin socket, whose share of the loop's time the connection uses.
  var party: FairScheduler.Party { get }
  /// Whether the connection may read, because its user is within its share of the loop's time or it
  /// is the connection's turn. Only the scheduler sets it.
  var mayRead: Bool { get set }

  /// Handles input that was already read, for one time slice.
  func takeTurn()

  /// Sends events of subscriptions until the slice is over, at least one.
  ///
  /// - Returns: Whether events are left and the connection has room for them.
  func sendEvents(within slice: inout TimeSlice) -> Bool

  /// Sends the replies that ``WriteCoalescer`` has delayed until the end of the loop iteration.
  func sendDelayed()

  /// Drops cached replies that were not used since the last call.
  ///
  /// - Returns: Whether cached replies are left.
  func dropUnusedReplies() -> Bool
}

/// Source of the configured ``FairScheduler/Terms``, under which connections share a loop.
package protocol SchedulerTermsSource: Sendable {
  /// A number that changes with the terms. The scheduler reads it for each piece of input, so
  /// reading must be cheap.
  var generation: Int { get }
  /// The current terms and their ``generation``.
  var currentTerms: (terms: FairScheduler.Terms, generation: Int) { get }
}

/// Driver of ``FairScheduler``: carries out its decisions which connections work, read or wait.
/// Used on the sockets' event loop only.
package final class ConnectionScheduler {
  /// Delay between two turns, in which the loop polls for new input. If turns followed each other
  /// at once, the loop would not poll in between.
  private static let pollInterval = TimeAmount.microseconds(10)

  private var fairScheduler: FairScheduler
  private let termsSource: any SchedulerTermsSource
  /// The generation of the terms that `fairScheduler` uses.
  private var generation: Int
  private let loop: SocketLoop
  private var connections: [FairScheduler.ConnectionID: any ScheduledConnection] = [:]
  private var lastConnectionID = 0
  /// The output buffers and the list of connections with delayed replies.
  package let coalescer = WriteCoalescer()
  private var isSweeping = false
  /// The number of event subscriptions of each user.
  private var subscriptions: [FairScheduler.Party: Int] = [:]
  private var deliveries: [FairScheduler.Party: Delivery] = [:]
  private var wake: (at: NIODeadline, timer: LoopTimer)?

  /// The connections of one user that have events to send.
  private struct Delivery {
    /// The connections in the order of their turns.
    var queue: [FairScheduler.ConnectionID] = []
    /// Whether the next slice for sending events is scheduled.
    var isScheduled = false
  }

  /// Creates the scheduler of an event loop. Must be called on the loop.
  package init(_ termsSource: any SchedulerTermsSource, on loop: SocketLoop) {
    self.termsSource = termsSource
    let (terms, generation) = termsSource.currentTerms
    self.generation = generation
    fairScheduler = FairScheduler(terms)
    self.loop = loop
    loop.atEndOfIteration { [coalescer] in coalescer.sendAll() }
  }

  private func applyTerms() {
    guard termsSource.generation != generation else { return }
    (fairScheduler.terms, generation) = termsSource.currentTerms
  }

  /// Whether more than one user, or a user and the admin socket, are connected to the loop.
  package var isShared: Bool { fairScheduler.isShared }

  /// Adds an accepted connection and decides whether it may read.
  ///
  /// - Parameter begun: The time at which accepting the connection began.
  package func add(_ connection: any ScheduledConnection, since begun: NIODeadline) {
    lastConnectionID += 1
    let now = loop.now
    let cost = cost(since: begun, at: now) + Self.acceptanceCost
    connection.connectionID = lastConnectionID
    connections[lastConnectionID] = connection
    connection.mayRead = fairScheduler.add(
      lastConnectionID, of: connection.party, cost: cost, at: now)
    loop.measuresProcessorTime = fairScheduler.isShared
    scheduleTurn()
  }

  /// Decides whether a new connection is accepted. Only its user is known yet.
  package func admit(
    _ party: FairScheduler.Party, isCrowded: Bool, at now: NIODeadline
  ) -> FairScheduler.ConnectionDecision {
    applyTerms()
    return fairScheduler.admit(party, isCrowded: isCrowded, at: now)
  }

  /// Charges a user for the time that a refused connect took.
  package func recordRefusal(_ party: FairScheduler.Party, since begun: NIODeadline) {
    let now = loop.now
    _ = fairScheduler.chargeConnectAttempt(
      cost(since: begun, at: now) + Self.acceptanceCost, party, at: now)
  }

  /// The cost of a connection that is not measured: accepting, registering and closing it.
  private static let acceptanceCost = TimeAmount.microseconds(30)

  package func remove(_ connection: any ScheduledConnection) {
    guard connections.removeValue(forKey: connection.connectionID) != nil else { return }
    fairScheduler.remove(connection.connectionID, of: connection.party, at: loop.now)
    loop.measuresProcessorTime = fairScheduler.isShared
  }

  /// Returns whether a connection that has received calls may work on them at once.
  package func mayWork(_ connection: any ScheduledConnection) -> Bool {
    applyTerms()
    // If one party uses the loop alone, as is usual, the clock is not read: this runs for every
    // piece of input.
    if !fairScheduler.isShared, !fairScheduler.hasWaiting { return true }
    defer { scheduleTurn() }
    return fairScheduler.recordCalls(
      on: connection.connectionID, of: connection.party, at: loop.now)
  }

  /// Returns the time slice for a connection that starts to work now.
  package func slice(for connection: any ScheduledConnection) -> TimeSlice {
    switch connection.party {
    case .admin: .endless
    case .user:
      fairScheduler.isShared ? TimeSlice(fairScheduler.terms.slice, since: loop.now) : .alone
    }
  }

  /// Returns the time since `start`, or the processor time of this loop iteration if that is less.
  ///
  /// The loop's thread may have waited for a processor since `start`. A user must not be throttled
  /// for the load that other processes cause.
  private func cost(since start: NIODeadline, at now: NIODeadline) -> TimeAmount {
    let time = now - start
    guard time > Self.unmeasuredLimit, loop.measuresProcessorTime else { return time }
    return min(time, ProcessorTime.ofThread() - loop.processorTimeBefore)
  }

  /// Durations up to this are charged without reading the processor time, because the reading is a
  /// system call.
  private static let unmeasuredLimit = TimeAmount.microseconds(100)

  /// Charges a connection's user for a slice of work.
  ///
  /// - Parameter remaining: The work that is left.
  /// - Returns: Whether the connection may read.
  package func recordWork(
    _ connection: any ScheduledConnection, _ slice: TimeSlice,
    remaining: FairScheduler.RemainingWork
  ) -> Bool {
    let now: NIODeadline
    switch (slice.start, remaining) {
    case (nil, .nothing), (nil, .blocked): return true
    case (let start?, _): now = max(loop.now, start)
    case (nil, .runnable): now = loop.now
    }
    guard connections[connection.connectionID] != nil else { return true }
    defer { scheduleTurn() }
    return fairScheduler.recordWork(
      connection.connectionID, of: connection.party,
      since: now - cost(since: slice.start ?? now, at: now), remaining: remaining, at: now)
  }

  /// Registers a call whose reply needs an asynchronous task.
  ///
  /// - Returns: False if the connection's user has reached the limit of calls that wait for their
  ///   reply (`calls_in_flight_per_user`).
  package func beginCall(_ party: FairScheduler.Party) -> Bool {
    applyTerms()
    return fairScheduler.beginCall(of: party, at: loop.now)
  }

  /// Charges a user for a call that waits for the disk.
  package func chargeDiskRead(_ party: FairScheduler.Party) {
    fairScheduler.chargeDiskRead(of: party, at: loop.now)
  }

  /// Charges a user for work that no slice measured: `cost` for work off the loop, and the time on
  /// the loop since `begun`.
  package func charge(_ cost: TimeAmount, since begun: NIODeadline, to party: FairScheduler.Party) {
    let now = loop.now
    fairScheduler.chargeWork(cost + self.cost(since: begun, at: now), to: party, at: now)
  }

  package func endCall(_ party: FairScheduler.Party) { fairScheduler.endCall(of: party) }

  private func scheduleTurn() {
    guard let turn = fairScheduler.nextTurn() else { return }
    let at = max(turn, loop.now + Self.pollInterval)
    if let wake {
      guard at < wake.at else { return }
      wake.timer.cancel()
    }
    wake = (at, loop.scheduleTask(deadline: at) { [self] in takeNextTurn() })
  }

  private func takeNextTurn() {
    wake = nil
    switch fairScheduler.next(at: loop.now) {
    case .work(let connectionID): connections[connectionID]?.takeTurn()
    case .listen(let connectionID, let before):
      before.flatMap { connections[$0] }?.mayRead = false
      connections[connectionID]?.mayRead = true
    case .wait, .nothing: break
    }
    scheduleTurn()
  }
}

// Events of subscriptions.
extension ConnectionScheduler {
  /// Counts a new subscription to events.
  ///
  /// - Parameter most: The maximum number of subscriptions of one user.
  /// - Returns: False if the user has reached the maximum; then the subscription is not counted.
  package func addSubscription(_ party: FairScheduler.Party, atMost most: Int) -> Bool {
    guard party != .admin else { return true }
    let count = subscriptions[party, default: 0]
    guard count < most else { return false }
    subscriptions[party] = count + 1
    return true
  }

  package func removeSubscription(_ party: FairScheduler.Party) {
    guard let count = subscriptions[party] else { return }
    subscriptions[party] = count > 1 ? count - 1 : nil
  }

  /// Sends a connection's events: one time slice at once unless the user must wait for a turn, and
  /// the rest when the user is within its share of the loop's time again.
  package func deliver(_ connection: any ScheduledConnection) {
    let party = connection.party
    var delivery = deliveries[party] ?? Delivery()
    let connectionID = connection.connectionID
    guard connections[connectionID] != nil, !delivery.queue.contains(connectionID) else { return }
    delivery.queue.append(connectionID)
    deliveries[party] = delivery
    guard !delivery.isScheduled else { return }
    if let turn = fairScheduler.nextEventTime(of: party, isContinuation: false, at: loop.now) {
      scheduleDelivery(to: party, at: turn)
    } else {
      sendEvents(of: party)
    }
  }

  private func scheduleDelivery(to party: FairScheduler.Party, at turn: NIODeadline) {
    deliveries[party]?.isScheduled = true
    _ = loop.scheduleTask(deadline: max(turn, loop.now + Self.pollInterval)) { [self] in
      deliveries[party]?.isScheduled = false
      sendEvents(of: party)
    }
  }

  private func sendEvents(of party: FairScheduler.Party) {
    let begun = loop.now
    var slice = fairScheduler.isShared ? TimeSlice(fairScheduler.terms.slice, since: begun) : .alone
    while !slice.isOver, deliveries[party]?.queue.isEmpty == false,
      let connectionID = deliveries[party]?.queue.removeFirst()
    {
      guard let connection = connections[connectionID] else { continue }
      if connection.sendEvents(within: &slice) { deliveries[party]?.queue.append(connectionID) }
    }
    charge(.zero, since: begun, to: party)
    guard deliveries[party]?.queue.isEmpty == false else {
      deliveries[party] = nil
      return
    }
    let now = loop.now
    scheduleDelivery(
      to: party, at: fairScheduler.nextEventTime(of: party, isContinuation: true, at: now) ?? now)
  }
}

// Cached replies.
extension ConnectionScheduler {
  /// Time after which unused cached replies are dropped.
  private static let unusedReplyLifetime = TimeAmount.minutes(1)

  /// Schedules the removal of unused cached replies. Called when a connection has cached a reply.
  package func scheduleSweep() {
    guard !isSweeping else { return }
    isSweeping = true
    _ = loop.scheduleTask(in: Self.unusedReplyLifetime) { [self] in sweep() }
  }

  private func sweep() {
    isSweeping = false
    coalescer.releaseBuffers()
    var isAnyLeft = false
    for connection in connections.values where connection.dropUnusedReplies() { isAnyLeft = true }
    if isAnyLeft { scheduleSweep() }
  }
}
