import NIOCore

/// Decides which connections may work on the event loop. ``ConnectionScheduler`` carries the
/// decisions out.
///
/// A user is charged for the time that its calls take. While other parties call too, a user that
/// has used up its share is *throttled*: its connections work one after the other, one slice at a
/// time, and between slices the loop serves others. Of its idle connections only one reads at a
/// time, so that hundreds of them cannot send calls at once. A user that makes one short call after
/// the other on one connection is not throttled: others wait at most for one such call. The admin
/// socket is neither charged nor delayed; its calls count as those of a party of its own.
package struct FairScheduler {
  /// Number of a connection on this loop; numbers are not reused.
  package typealias ConnectionID = Int

  package enum Party: Hashable, Sendable {
    case admin
    case user(UInt32)
  }

  /// The work that is left on a connection when its time slice is over.
  package enum RemainingWork: Equatable {
    case nothing
    /// RPC calls that have been read and can run.
    case runnable
    /// RPC calls that have been read but cannot run yet, for instance because the peer does not
    /// read its replies. The connection continues by itself, without a turn.
    case blocked
  }

  enum Step: Equatable {
    /// This connection handles its calls for one time slice.
    case work(ConnectionID)
    /// This connection starts to read, and the other one, of the same user, stops reading.
    case listen(ConnectionID, insteadOf: ConnectionID?)
    /// No connection may work or read before this time.
    case wait(until: NIODeadline)
    case nothing
  }

  /// The decision whether a new connection is served.
  package enum ConnectionDecision {
    case accepted
    /// The peer receives an error and the connection is closed.
    case refused
    /// The connection is closed without an error: the user has received enough errors this second.
    case dropped
  }

  private struct User {
    var connectionCount = 0
    var callsInFlight = 0
    /// The time at which the user has no debt any more: when its consumption is within its share
    /// again.
    var withinShareAt: NIODeadline
    var throttledUntil: NIODeadline
    /// The time until which the user counts as making concurrent calls, without which it is not
    /// throttled.
    var contendedUntil: NIODeadline
    /// The connection of the user's last call, and the time at which the call was received or
    /// answered.
    var lastCall: (connectionID: ConnectionID, at: NIODeadline)?
    /// The rate of the user's connects.
    var connectAttempts: ConnectRate
    var reportedRefusals: ConnectRate
    /// The time at which the user's last connect was handled.
    var lastConnectAttempt: NIODeadline?
    /// The user's connections that wait for a turn, in order. They do not read.
    var queue: [QueueEntry] = []
    /// The only connection of the throttled user that reads, of those that have already had a turn.
    var listening: ConnectionID?

    static func new(at now: NIODeadline) -> User {
      User(
        withinShareAt: .distantPast, throttledUntil: now, contendedUntil: now,
        connectAttempts: ConnectRate(now), reportedRefusals: ConnectRate(now))
    }

    func isThrottled(_ now: NIODeadline) -> Bool { throttledUntil > now }
  }

  private struct QueueEntry: Equatable {
    let connectionID: ConnectionID
    /// Whether the connection has calls to work on. If not, it waits for its turn to read.
    var hasBytes: Bool
  }

  /// The current parameters. A change applies from the next event on.
  var terms: Terms
  private var users: [UInt32: User] = [:]
  /// The users with at least one connection that waits for a turn.
  private var waiting: Set<UInt32> = []
  private var admins = 0
  private var connectedUsers = 0
  /// The party that called last. Together with ``beforeLatest``, the time of the last call of any
  /// other party, it tells for each party whether others call.
  private var latest: (party: Party, at: NIODeadline)?
  private var beforeLatest: NIODeadline?

  init(_ terms: Terms) { self.terms = terms }

  /// Whether more than one user, or a user and the admin socket, are connected.
  var isShared: Bool { connectedUsers + min(admins, 1) > 1 }
}

// MARK: - Connections and calls
extension FairScheduler {
  /// Decides about a new connection of which only the user is known.
  ///
  /// All connects pass through one listen backlog, so those of a user that connects too often must
  /// be removed from it quickly.
  ///
  /// - Parameter isCrowded: Whether the backlog is filled faster than it is emptied. A user that
  ///   connects too often is then refused even if no other user calls: the connections behind may
  ///   be another user's.
  mutating func admit(
    _ party: Party, isCrowded: Bool = false, at now: NIODeadline
  ) -> ConnectionDecision {
    guard case .user(let uid) = party else { return .accepted }
    var user = users[uid] ?? .new(at: now)
    defer { users[uid] = user }
    let isWithin = user.connectAttempts.add(now, perSecond: terms.connectAttempts)
    guard isCrowded || user.isThrottled(now), !isWithin else { return .accepted }
    return user.reportedRefusals.add(now, perSecond: terms.reportedRefusals) ? .refused : .dropped
  }

  /// Adds an accepted connection; `cost` is the time that accepting it took.
  ///
  /// - Returns: Whether the connection may read.
  mutating func add(
    _ connectionID: ConnectionID, of party: Party, cost: TimeAmount, at now: NIODeadline
  ) -> Bool {
    guard case .user(let uid) = party else {
      admins += 1
      return true
    }
    var user = users[uid] ?? .new(at: now)
    if user.connectionCount == 0 { connectedUsers += 1 }
    user.connectionCount += 1
    users[uid] = user
    guard chargeConnectAttempt(cost, party, at: now) else { return true }
    change(uid) { $0.queue.append(QueueEntry(connectionID: connectionID, hasBytes: false)) }
    return false
  }

  mutating func remove(_ connectionID: ConnectionID, of party: Party, at now: NIODeadline) {
    guard case .user(let uid) = party else {
      admins -= 1
      return
    }
    change(uid) { user in
      user.connectionCount -= 1
      user.queue.removeAll { $0.connectionID == connectionID }
      if user.listening == connectionID { user.listening = nil }
      // A call on the user's next connection is not concurrent with a call on a connection that is
      // closed.
      if user.lastCall?.connectionID == connectionID { user.lastCall = nil }
    }
    if users[uid]?.connectionCount == 0 { connectedUsers -= 1 }
    removeIdleUsers(at: now)
  }

  private mutating func change(_ uid: UInt32, _ body: (inout User) -> Void) {
    guard var user = users[uid] else { return }
    body(&user)
    store(user, uid)
  }

  private mutating func store(_ user: User, _ uid: UInt32) {
    users[uid] = user
    if user.queue.isEmpty { waiting.remove(uid) } else { waiting.insert(uid) }
  }

  /// Removes users without connections, calls, debt or recent connects. The others are kept, so
  /// that a user cannot lose its debt by reconnecting.
  private mutating func removeIdleUsers(at now: NIODeadline) {
    users = users.filter { _, user in
      user.connectionCount > 0 || user.callsInFlight > 0 || user.isThrottled(now)
        || user.withinShareAt > now
        || !user.connectAttempts.isEmpty(now)
    }
  }

  /// Records that calls have arrived on a connection.
  ///
  /// - Returns: Whether the connection works on them at once, for one slice. If not, it waits for
  ///   its turn and does not read.
  mutating func recordCalls(on connectionID: ConnectionID, of party: Party, at now: NIODeadline)
    -> Bool
  {
    recordActivity(party, at: now)
    guard case .user(let uid) = party, var user = users[uid] else { return true }
    defer { store(user, uid) }
    let isConcurrent =
      user.lastCall.map { $0.connectionID != connectionID && $0.at + terms.concurrencyWindow > now }
      ?? false
    if isConcurrent
      || user.queue.contains(where: { $0.hasBytes && $0.connectionID != connectionID })
    {
      user.contendedUntil = now + terms.throttlePeriod
    }
    user.lastCall = (connectionID, now)
    if let place = user.queue.firstIndex(where: { $0.connectionID == connectionID }) {
      user.queue[place].hasBytes = true
      return false
    }
    let wasListening = user.listening == connectionID
    if wasListening { user.listening = nil }
    guard user.isThrottled(now) || isShared && !user.queue.isEmpty else { return true }
    if wasListening, user.withinShareAt <= now { return true }
    user.queue.insert(
      QueueEntry(connectionID: connectionID, hasBytes: true),
      at: wasListening ? 0 : user.queue.endIndex)
    return false
  }

  /// Records that a connection has worked since `start`.
  ///
  /// - Returns: Whether the connection may read. If not, it waits for its turn.
  mutating func recordWork(
    _ connectionID: ConnectionID, of party: Party, since start: NIODeadline,
    remaining: RemainingWork,
    at now: NIODeadline
  ) -> Bool {
    guard case .user(let uid) = party else { return true }
    if remaining == .runnable { users[uid]?.contendedUntil = now + terms.throttlePeriod }
    chargeWork(now - start, to: party, at: now)
    guard var user = users[uid] else { return true }
    defer { store(user, uid) }
    if user.lastCall?.connectionID == connectionID { user.lastCall?.at = now }
    if user.listening == connectionID { user.listening = nil }
    switch remaining {
    case .blocked: return true
    case .runnable:
      user.queue.append(QueueEntry(connectionID: connectionID, hasBytes: true))
      return false
    case .nothing:
      guard user.isThrottled(now) else { return true }
      guard user.listening != nil || user.queue.contains(where: { !$0.hasBytes }) else {
        user.listening = connectionID
        return true
      }
      user.queue.append(QueueEntry(connectionID: connectionID, hasBytes: false))
      return false
    }
  }

  /// Charges a user for work on its calls, whether on the event loop or off it.
  mutating func chargeWork(_ cost: TimeAmount, to party: Party, at now: NIODeadline) {
    if case .user(let uid) = party, cost > terms.longCall {
      users[uid]?.contendedUntil = now + terms.throttlePeriod
    }
    charge(cost, to: party, at: now)
  }

  /// Registers a call that runs in an asynchronous task and charges its fixed cost.
  ///
  /// - Returns: False if the user has reached the limit of calls that run in asynchronous tasks
  ///   (`calls_in_flight_per_user`).
  mutating func beginCall(of party: Party, at now: NIODeadline) -> Bool {
    guard case .user(let uid) = party, let user = users[uid] else { return true }
    guard user.callsInFlight < terms.callsInFlight else { return false }
    users[uid]?.callsInFlight += 1
    chargeDiskRead(of: party, at: now)
    return true
  }

  /// Charges a call that waits for the disk. A connection has at most one at a time, so it does not
  /// count as a call in flight.
  mutating func chargeDiskRead(of party: Party, at now: NIODeadline) {
    if isShared { charge(terms.taskCost, to: party, at: now) }
  }

  /// Removes a call that ``beginCall(of:at:)`` registered. Its connection may have closed already.
  mutating func endCall(of party: Party) {
    guard case .user(let uid) = party else { return }
    users[uid]?.callsInFlight -= 1
  }
}

// MARK: - Taking turns
extension FairScheduler {
  /// Whether any connection waits for a turn.
  var hasWaiting: Bool { !waiting.isEmpty }

  /// Returns the time of the next turn; nil if no connection waits for one.
  func nextTurn() -> NIODeadline? { waiting.lazy.compactMap { users[$0]?.withinShareAt }.min() }

  /// Returns the next step. Of the users that are within their share, the turn goes to the one that
  /// has been so for the longest time.
  mutating func next(at now: NIODeadline) -> Step {
    let first = waiting.min {
      (users[$0]?.withinShareAt ?? now) < (users[$1]?.withinShareAt ?? now)
    }
    guard let uid = first, var user = users[uid] else { return .nothing }
    guard user.withinShareAt <= now else { return .wait(until: user.withinShareAt) }
    let place = user.queue.removeFirst()
    guard !place.hasBytes else {
      store(user, uid)
      return .work(place.connectionID)
    }
    var before: ConnectionID?
    if user.isThrottled(now) {
      before = user.listening
      user.listening = place.connectionID
      if let before { user.queue.append(QueueEntry(connectionID: before, hasBytes: false)) }
    }
    store(user, uid)
    charge(terms.listenCost, to: .user(uid), at: now)
    return .listen(place.connectionID, insteadOf: before)
  }

  /// Returns the time at which a user's events may be sent; nil if at once.
  ///
  /// A user that is not throttled waits only with events that did not fit into one slice. The wait
  /// is at most `longestWait`, so that a user's calls cannot block its events forever.
  ///
  /// - Parameter isContinuation: Whether a slice of the user's events has just ended.
  func nextEventTime(of party: Party, isContinuation: Bool, at now: NIODeadline) -> NIODeadline? {
    guard case .user(let uid) = party, let user = users[uid],
      isContinuation || user.isThrottled(now),
      user.withinShareAt > now
    else { return nil }
    return min(user.withinShareAt, now + terms.longestWait)
  }

  /// Charges a user for a connect, whether the connection was accepted or refused.
  ///
  /// - Returns: Whether the user is throttled now.
  mutating func chargeConnectAttempt(_ cost: TimeAmount, _ party: Party, at now: NIODeadline)
    -> Bool
  {
    guard case .user(let uid) = party, var user = users[uid] else { return false }
    // The connect waited while the previous one was handled, so the two are concurrent. A client
    // that connects, calls and closes in a loop has no such connects: it delays others by one
    // connect only.
    if let last = user.lastConnectAttempt, now - cost <= last {
      user.contendedUntil = now + terms.throttlePeriod
    }
    user.lastConnectAttempt = now
    users[uid] = user
    return charge(cost, to: party, at: now)
  }

  /// Charges a cost to a user, which moves the time at which the user is within its share again.
  /// While other parties call, the cost is divided by the user's share.
  ///
  /// - Returns: Whether the user is throttled now.
  @discardableResult
  mutating func charge(_ cost: TimeAmount, to party: Party, at now: NIODeadline) -> Bool {
    guard case .user(let uid) = party, var user = users[uid] else { return false }
    let othersAreActive = othersAreActive(besides: party, at: now)
    let price = othersAreActive ? cost * 100 / terms.sharePercent : cost
    // A user may save up unused time only to the extent of `credit`; a throttled user gets no
    // credit.
    let saved = user.isThrottled(now) ? cost : terms.credit * 100 / terms.sharePercent
    let end = now + max(price, terms.longestWait)
    user.withinShareAt = max(
      user.withinShareAt, min(max(user.withinShareAt, now - saved) + price, end))
    if othersAreActive, user.withinShareAt > now, user.contendedUntil > now {
      // The user is throttled at least until it has no debt any more.
      user.throttledUntil = max(now + terms.throttlePeriod, user.withinShareAt)
    }
    users[uid] = user
    return user.isThrottled(now)
  }

  private mutating func recordActivity(_ party: Party, at now: NIODeadline) {
    if let latest, latest.party != party { beforeLatest = latest.at }
    latest = (party, now)
  }

  private func othersAreActive(besides party: Party, at now: NIODeadline) -> Bool {
    guard let latest else { return false }
    let last = latest.party == party ? beforeLatest : latest.at
    return last.map { $0 + terms.activityWindow > now } ?? false
  }
}

extension TimeAmount {
  fileprivate static func / (amount: TimeAmount, divisor: Int) -> TimeAmount {
    .nanoseconds(amount.nanoseconds / Int64(divisor))
  }
}
