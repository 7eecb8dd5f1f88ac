import NIOCore
import UsherConfig
import UsherCore

/// Who may work on the event loop, and who waits: told what happened and when, it answers whose turn
/// it is. A value; ``ConnectionScheduler`` does what it says.
///
/// A user's calls cost the time they take. While others call too, a user that has used up its share
/// is *throttled*: its connections work one after the other, a slice at a time, and between two slices
/// the loop is the others'. Of its connections that have nothing left to do only one listens at a
/// time, so that hundreds of them cannot be heard at once. A user that makes one call after the other,
/// on one connection, is not throttled as long as its calls are short: nobody waits longer than for one of
/// them. The admin socket is neither charged nor held up; its calls count as another's.
struct FairScheduler {
  /// One connection; numbers are not used twice.
  typealias ConnectionID = Int

  enum Party: Hashable, Sendable {
    case admin
    case user(UInt32)
  }

  /// What a connection leaves when its slice is over.
  enum Rest: Equatable {
    case nothing
    /// Calls that it has read.
    case bytes
    /// Calls that it has read, while its replies are not: it comes back by itself.
    case blocked
  }

  enum Step: Equatable {
    /// This connection works for a slice.
    case work(ConnectionID)
    /// This one listens, and the other one of its user no more.
    case listen(ConnectionID, insteadOf: ConnectionID?)
    /// Nobody's turn before that time.
    case wait(until: NIODeadline)
    case nothing
  }

  /// What becomes of one who comes.
  enum Welcome {
    case comesIn
    /// It is told why.
    case refused
    /// Not a word is said: it has been told often enough.
    case turnedAway
  }

  /// How the loop is shared out.
  struct Terms {
    /// Of the loop's time, for one user while others call.
    var percent: Int
    /// Work of one turn.
    var slice = TimeAmount.microseconds(50)
    /// How long somebody who called counts as one who calls.
    var presence = TimeAmount.seconds(10)
    /// How much a user may have used beyond its share before it is throttled: nobody calls steadily.
    var credit = TimeAmount.milliseconds(1)
    /// A call that comes on another connection within this time after one was answered was made at once
    /// with it: whoever waits for the answer first is not so fast.
    var atOnce = TimeAmount.microseconds(50)
    /// How often a user that is throttled comes in within a second.
    var connectAttempts: Int
    /// How many of those beyond are told why they do not.
    var toldKnocks = 64
    /// How long it is throttled after it last used more than its share, or made calls at once.
    var memory = TimeAmount.seconds(1)
    /// However often it has used a little, it waits no longer than this for its next turn. What one
    /// call costs is paid in full.
    var longestWait = TimeAmount.milliseconds(100)
    /// A user whose call takes longer than this is throttled like one that makes calls at once.
    var longCall = TimeAmount.milliseconds(1)
    /// What it costs to listen to the next connection.
    var listening = TimeAmount.microseconds(10)
    /// What a call that waits costs, beside what it does on the loop.
    var task = TimeAmount.microseconds(100)
    /// Calls of one user that wait.
    var callsInFlight: Int
  }

  private struct User {
    var connectionCount = 0
    var callsInFlight = 0
    /// When what it has used is within its share again.
    var paidAt: NIODeadline
    var throttledUntil: NIODeadline
    /// How long it counts as one that makes calls at once.
    var crowdUntil: NIODeadline
    /// On which connection it called last, and when that was answered.
    var lastCall: (connectionID: ConnectionID, at: NIODeadline)?
    /// The user's connects that were let in, and those that were refused with a reason.
    var connectAttempts: ConnectRate
    var told: ConnectRate
    /// When it last connected.
    var lastKnock: NIODeadline?
    /// Its connections that wait for a turn, and do not listen.
    var line: [Place] = []
    /// Of the connections that have worked since it is throttled, the one that listens.
    var listening: ConnectionID?

    static func connectingPeer(at now: NIODeadline) -> User {
      User(
        paidAt: .distantPast, throttledUntil: now, crowdUntil: now,
        connectAttempts: ConnectRate(now),
        told: ConnectRate(now))
    }

    func isThrottled(_ now: NIODeadline) -> Bool { throttledUntil > now }
  }

  private struct Place: Equatable {
    let connectionID: ConnectionID
    /// Whether it has calls to work on; else it waits to listen.
    var hasBytes: Bool
  }

  /// Others hold from then on.
  var terms: Terms
  private var users: [UInt32: User] = [:]
  /// The users of whom a connection waits for a turn.
  private var waiting: Set<UInt32> = []
  private var admins = 0
  private var connectedUsers = 0
  /// Who called last, and when another one did: enough to know of anybody whether others call.
  private var latest: (party: Party, at: NIODeadline)?
  private var beforeLatest: NIODeadline?

  init(_ terms: Terms) { self.terms = terms }

  /// Whether there is anybody to share the loop with.
  var isShared: Bool { connectedUsers + min(admins, 1) > 1 }
}

// Coming, calling, leaving.
extension FairScheduler {
  /// Somebody comes, and nothing else is known yet. All come through one queue: whoever comes too
  /// often must be out of the others' way at once.
  ///
  /// - Parameter isCrowded: Whether more wait in that queue than are accepted: then a user who comes too
  ///   often is refused also where nobody else calls, for who waits may be another one.
  mutating func comes(
    _ party: Party, isCrowded: Bool = false, at now: NIODeadline
  ) -> Welcome {
    guard case .user(let uid) = party else { return .comesIn }
    var user = users[uid] ?? .connectingPeer(at: now)
    defer { users[uid] = user }
    let isWithin = user.connectAttempts.add(now, perSecond: terms.connectAttempts)
    guard isCrowded || user.isThrottled(now), !isWithin else { return .comesIn }
    return user.told.add(now, perSecond: terms.toldKnocks) ? .refused : .turnedAway
  }

  /// A connection begins; `cost` is what letting it in took.
  ///
  /// - Returns: Whether it listens.
  mutating func enter(
    _ connectionID: ConnectionID, of party: Party, cost: TimeAmount, at now: NIODeadline
  ) -> Bool {
    guard case .user(let uid) = party else {
      admins += 1
      return true
    }
    var user = users[uid] ?? .connectingPeer(at: now)
    if user.connectionCount == 0 { connectedUsers += 1 }
    user.connectionCount += 1
    users[uid] = user
    guard knocked(cost, party, at: now) else { return true }
    change(uid) { $0.line.append(Place(connectionID: connectionID, hasBytes: false)) }
    return false
  }

  mutating func leave(_ connectionID: ConnectionID, of party: Party, at now: NIODeadline) {
    guard case .user(let uid) = party else {
      admins -= 1
      return
    }
    change(uid) { user in
      user.connectionCount -= 1
      user.line.removeAll { $0.connectionID == connectionID }
      if user.listening == connectionID { user.listening = nil }
      // The next connection's call is not made at once with one of a connection that is gone.
      if user.lastCall?.connectionID == connectionID { user.lastCall = nil }
    }
    if users[uid]?.connectionCount == 0 { connectedUsers -= 1 }
    forgetIdle(at: now)
  }

  private mutating func change(_ uid: UInt32, _ body: (inout User) -> Void) {
    guard var user = users[uid] else { return }
    body(&user)
    keep(user, uid)
  }

  private mutating func keep(_ user: User, _ uid: UInt32) {
    users[uid] = user
    if user.line.isEmpty { waiting.remove(uid) } else { waiting.insert(uid) }
  }

  /// Who leaves and comes back is not without debt.
  private mutating func forgetIdle(at now: NIODeadline) {
    users = users.filter { _, user in
      user.connectionCount > 0 || user.callsInFlight > 0 || user.isThrottled(now)
        || user.paidAt > now
        || !user.connectAttempts.isEmpty(now)
    }
  }

  /// Calls have come on a connection.
  ///
  /// - Returns: Whether it works on them at once, for a slice; else it waits for its turn, and does
  ///   not listen.
  mutating func called(_ connectionID: ConnectionID, of party: Party, at now: NIODeadline) -> Bool {
    note(party, at: now)
    guard case .user(let uid) = party, var user = users[uid] else { return true }
    defer { keep(user, uid) }
    let isAtOnce =
      user.lastCall.map { $0.connectionID != connectionID && $0.at + terms.atOnce > now } ?? false
    if isAtOnce || user.line.contains(where: { $0.hasBytes && $0.connectionID != connectionID }) {
      user.crowdUntil = now + terms.memory
    }
    user.lastCall = (connectionID, now)
    if let place = user.line.firstIndex(where: { $0.connectionID == connectionID }) {
      user.line[place].hasBytes = true
      return false
    }
    let hadItsTurn = user.listening == connectionID
    if hadItsTurn { user.listening = nil }
    guard user.isThrottled(now) || isShared && !user.line.isEmpty else { return true }
    if hadItsTurn, user.paidAt <= now { return true }
    user.line.insert(
      Place(connectionID: connectionID, hasBytes: true), at: hadItsTurn ? 0 : user.line.endIndex)
    return false
  }

  /// A connection has worked since `start`.
  ///
  /// - Returns: Whether it listens; else it waits for its turn.
  mutating func worked(
    _ connectionID: ConnectionID, of party: Party, since start: NIODeadline, leaving rest: Rest,
    at now: NIODeadline
  ) -> Bool {
    guard case .user(let uid) = party else { return true }
    if rest == .bytes { users[uid]?.crowdUntil = now + terms.memory }
    spent(now - start, by: party, at: now)
    guard var user = users[uid] else { return true }
    defer { keep(user, uid) }
    if user.lastCall?.connectionID == connectionID { user.lastCall?.at = now }
    if user.listening == connectionID { user.listening = nil }
    switch rest {
    case .blocked: return true
    case .bytes:
      user.line.append(Place(connectionID: connectionID, hasBytes: true))
      return false
    case .nothing:
      guard user.isThrottled(now) else { return true }
      guard user.listening != nil || user.line.contains(where: { !$0.hasBytes }) else {
        user.listening = connectionID
        return true
      }
      user.line.append(Place(connectionID: connectionID, hasBytes: false))
      return false
    }
  }

  /// Work was done for a user's calls, on the event loop or beside it.
  mutating func spent(_ cost: TimeAmount, by party: Party, at now: NIODeadline) {
    if case .user(let uid) = party, cost > terms.longCall {
      users[uid]?.crowdUntil = now + terms.memory
    }
    charge(cost, to: party, at: now)
  }

  /// A call begins that waits: what it does elsewhere is paid here.
  ///
  /// - Returns: False when the user has as many as it may have.
  mutating func began(of party: Party, at now: NIODeadline) -> Bool {
    guard case .user(let uid) = party, let user = users[uid] else { return true }
    guard user.callsInFlight < terms.callsInFlight else { return false }
    users[uid]?.callsInFlight += 1
    reads(of: party, at: now)
    return true
  }

  /// A call begins that waits for the disk: of a connection one at a time, which is no flight.
  mutating func reads(of party: Party, at now: NIODeadline) {
    if isShared { charge(terms.task, to: party, at: now) }
  }

  /// A call that waited has ended; also after its connection.
  mutating func landed(of party: Party) {
    guard case .user(let uid) = party else { return }
    users[uid]?.callsInFlight -= 1
  }
}

// MARK: - Taking turns
extension FairScheduler {
  /// Whether somebody waits for a turn.
  var isAwaited: Bool { !waiting.isEmpty }

  /// When somebody's next turn is; nil where nobody waits.
  func nextTurn() -> NIODeadline? { waiting.lazy.compactMap { users[$0]?.paidAt }.min() }

  /// Whose turn it is: of the users whose share has room, the one that waits longest for it.
  mutating func next(at now: NIODeadline) -> Step {
    let first = waiting.min { (users[$0]?.paidAt ?? now) < (users[$1]?.paidAt ?? now) }
    guard let uid = first, var user = users[uid] else { return .nothing }
    guard user.paidAt <= now else { return .wait(until: user.paidAt) }
    let place = user.line.removeFirst()
    guard !place.hasBytes else {
      keep(user, uid)
      return .work(place.connectionID)
    }
    var before: ConnectionID?
    if user.isThrottled(now) {
      before = user.listening
      user.listening = place.connectionID
      if let before { user.line.append(Place(connectionID: before, hasBytes: false)) }
    }
    keep(user, uid)
    charge(terms.listening, to: .user(uid), at: now)
    return .listen(place.connectionID, insteadOf: before)
  }

  /// When a user's events may be sent; nil: at once.
  ///
  /// A user that is not throttled waits only with what one slice had no time for, and never for long: its
  /// calls must not hold its events up forever.
  ///
  /// - Parameter isRest: Whether a slice of events has just ended.
  func nextEvents(of party: Party, isRest: Bool, at now: NIODeadline) -> NIODeadline? {
    guard case .user(let uid) = party, let user = users[uid], isRest || user.isThrottled(now),
      user.paidAt > now
    else { return nil }
    return min(user.paidAt, now + terms.longestWait)
  }

  /// A user's connection was let in, or refused: who comes again and again does so at once.
  ///
  /// - Returns: Whether the user is throttled now.
  mutating func knocked(_ cost: TimeAmount, _ party: Party, at now: NIODeadline) -> Bool {
    guard case .user(let uid) = party, var user = users[uid] else { return false }
    // It waited while the one before was let in. Who connects, calls and leaves, again and again, holds
    // nobody up for longer than that.
    if let last = user.lastKnock, now - cost <= last {
      user.crowdUntil = now + terms.memory
    }
    user.lastKnock = now
    users[uid] = user
    return charge(cost, to: party, at: now)
  }

  /// Puts a cost on a user's account. Where others call, each moment used is paid with several.
  ///
  /// - Returns: Whether the user is throttled now.
  @discardableResult
  mutating func charge(_ cost: TimeAmount, to party: Party, at now: NIODeadline) -> Bool {
    guard case .user(let uid) = party, var user = users[uid] else { return false }
    let othersCall = othersCall(than: party, at: now)
    let price = othersCall ? cost * 100 / terms.percent : cost
    // What was not used long ago is not saved up, and by a user that is throttled not at all.
    let saved = user.isThrottled(now) ? cost : terms.credit * 100 / terms.percent
    let end = now + max(price, terms.longestWait)
    user.paidAt = max(user.paidAt, min(max(user.paidAt, now - saved) + price, end))
    if othersCall, user.paidAt > now, user.crowdUntil > now {
      // For as long as it owes, too.
      user.throttledUntil = max(now + terms.memory, user.paidAt)
    }
    users[uid] = user
    return user.isThrottled(now)
  }

  private mutating func note(_ party: Party, at now: NIODeadline) {
    if let latest, latest.party != party { beforeLatest = latest.at }
    latest = (party, now)
  }

  private func othersCall(than party: Party, at now: NIODeadline) -> Bool {
    guard let latest else { return false }
    let last = latest.party == party ? beforeLatest : latest.at
    return last.map { $0 + terms.presence > now } ?? false
  }
}

extension TimeAmount {
  fileprivate static func / (amount: TimeAmount, divisor: Int) -> TimeAmount {
    .nanoseconds(amount.nanoseconds / Int64(divisor))
  }
}
