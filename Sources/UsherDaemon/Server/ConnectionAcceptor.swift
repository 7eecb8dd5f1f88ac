import JSONRPC
import NIOCore
import Synchronization
import UsherConfig
import UsherCore
import UsherSystem
import UsherTransport

/// Identifies the peer of each new connection once, and then serves or refuses the connection.
final class ConnectionAcceptor: SocketAcceptor {
  let service: RPCService
  private let count: ConnectionCount
  private let open: OpenConnections
  /// The uids whose processes may use the admin socket.
  private let admins: Set<UInt32>
  private let sockets: LocalSockets
  private let shared = Mutex<OnLoop<ConnectionScheduler>?>(nil)
  /// Users that connected so often that they get no error; their connects are closed after a look
  /// at the uid.
  private let blocked = Mutex(BlockedUsers())
  private let closer: SocketCloser
  /// The last error that was sent to a refused peer. Repeated connects of the same user receive the
  /// same line again.
  private let lastRefusal = Mutex<Refused?>(nil)

  private struct BlockedUsers {
    static let limit = 16
    var uids: [UInt32] = []
    /// The party that is charged for closing the connections: that of the first user.
    var party = FairScheduler.Party.admin
    var until = NIODeadline.distantPast
  }

  private struct Refused {
    let uid: UInt32
    let limit: String?
    let until: NIODeadline
    let line: [UInt8]
  }

  init(_ service: RPCService) {
    self.service = service
    let dependencies = service.dependencies
    admins = [0, dependencies.daemonUser]
    sockets = dependencies.sockets
    closer = SocketCloser { dependencies.blocking.start($0) }
    count = service.lockController.processContext.count
    open = service.lockController.processContext.connections
  }

  /// Lets every connection answer the calls that it has received, then closes it. Returns when all
  /// connections are closed.
  ///
  /// - Parameter limits: Calls that are not answered after `drain_seconds` are refused with
  ///   `shutting_down`. Replies that are not read after another `unread_reply_seconds` are lost.
  func drain(within limits: Limits, _ scheduler: any Scheduler) async {
    open.forEachOnLoop { $0.drain(unreadReplySeconds: limits.unreadReplySeconds) }
    let timer = scheduler.after(.seconds(limits.drainSeconds)) { [service, open] in
      service.drain()
      open.forEachOnLoop { $0.end() }
    }
    await open.waitUntilEmpty()
    timer.cancel()
  }

  /// Accepts one connection from the backlog, on the event loop. Connects of users that are
  /// blocked are closed at once, so that the backlog empties faster than one user can fill it.
  func accept(from listener: DirectSocket, on loop: SocketLoop) -> DirectSocket.Accepted {
    let begun = loop.now
    let (uids, party) = blocked.withLock { blocked in
      if blocked.until <= begun { blocked.uids = [] }
      return (blocked.uids, blocked.party)
    }
    guard !uids.isEmpty else { return listener.accept() }
    let (accepted, closed) = listener.accept(
      closing: uids, by: closer, within: service.dependencies.descriptors)
    if closed > 0 { scheduler(on: loop).recordRefusal(party, since: begun) }
    return accepted
  }

  /// The time for which a user is blocked. It is short, because all connects that the user
  /// makes in that time are handled together at its end.
  private static let blockTime = TimeAmount.milliseconds(10)

  private func block(_ uid: UInt32, _ party: FairScheduler.Party, at now: NIODeadline) {
    blocked.withLock { blocked in
      if blocked.uids.isEmpty {
        blocked.party = party
        blocked.until = now + Self.blockTime
      }
      if blocked.uids.count < BlockedUsers.limit { blocked.uids.append(uid) }
    }
  }

  /// Serves a new socket or refuses it, on the event loop. A refused socket is closed on return.
  ///
  /// - Parameter isCrowded: Whether the backlog is filled faster than it is emptied.
  /// - Returns: The cause, for the log, if the peer cannot be identified, no descriptor is left, or
  ///   the connection cannot be watched. Nil if the peer is served, and also after an ordinary
  ///   refusal.
  func admit(
    _ socket: DirectSocket, on loop: SocketLoop, isAdmin: Bool, isCrowded: Bool = false
  ) -> String? {
    let begun = loop.now
    let scheduler = scheduler(on: loop)
    let peerUID: UInt32
    do throws(UsherError) {
      peerUID = try sockets.user(socket.raw)
    } catch {
      socket.close()
      return error.message
    }
    let uid = service.dependencies.subordinates.user(ofSubordinate: peerUID) ?? peerUID
    // The uid is checked in addition to the file mode of the socket, which may be set wrong.
    guard !isAdmin || admins.contains(peerUID) else {
      refuse(socket, refusal(Self.notAdmin, uid, at: begun))
      return nil
    }
    // Decided before the peer is looked up further, so that a refusal costs little.
    let party = isAdmin ? FairScheduler.Party.admin : .user(uid)
    let decision = scheduler.admit(party, isCrowded: isCrowded, at: begun)
    guard decision != .dropped else {
      socket.close()
      block(peerUID, party, at: begun)
      scheduler.recordRefusal(party, since: begun)
      return nil
    }
    do throws(Refusal) {
      if decision == .refused { throw Refusal(error: Self.tooManyConnects) }
      let caller = try registerPeer(socket, uid, isAdmin: isAdmin)
      return serve(socket, caller, uid, party, scheduler, on: loop, since: begun)
    } catch {
      refuse(socket, refusal(error.error, uid, at: begun))
      scheduler.recordRefusal(party, since: begun)
      return error.cause
    }
  }

  /// The reason why a connection is refused.
  private struct Refusal: Error {
    let error: UsherError
    /// The cause to log; nil if any peer can cause the error as often as it likes.
    var cause: String?
  }

  /// Counts a new connection and identifies its peer.
  ///
  /// - Parameter uid: The user whose limits apply to the peer.
  private func registerPeer(
    _ socket: DirectSocket, _ uid: UInt32, isAdmin: Bool
  ) throws(Refusal) -> CallerCache {
    let use: DescriptorBudget.Use = isAdmin ? .administrator : .caller
    guard service.dependencies.descriptors.allows(socket.raw, for: use) else {
      throw Refusal(error: DescriptorBudget.exhausted, cause: DescriptorBudget.exhausted.message)
    }
    do throws(UsherError) {
      try count.add(uid, isAdmin: isAdmin)
    } catch {
      throw Refusal(error: error)
    }
    do throws(UsherError) {
      let caller = try identify(socket, isAdmin: isAdmin)
      if caller.caller.isUnauthorized { try count.addUnauthorized() }
      return caller
    } catch {
      // Reached if the peer cannot be identified or too many callers without rights are connected.
      count.remove(uid)
      let isCausedByPeer = [.permissionDenied, .overloaded].contains(error.reason)
      throw Refusal(error: error, cause: isCausedByPeer ? nil : error.message)
    }
  }

  private func identify(_ socket: DirectSocket, isAdmin: Bool) throws(UsherError) -> CallerCache {
    let peer = try sockets.peer(socket.raw)
    let connectingPeer = PeerIdentity(
      peer, isAdmin: isAdmin, realm: DaemonSetting.realm,
      subordinateTo: service.dependencies.subordinates.owners(ofSubordinate: peer.uid),
      connectedAt: service.dependencies.clock.monotonicNow())
    return CallerCache(connectingPeer, service.configStore)
  }

  /// Serves the socket of an identified peer.
  ///
  /// - Returns: The cause, for the log, if the connection cannot be watched; else nil.
  private func serve(
    _ socket: DirectSocket, _ caller: CallerCache, _ uid: UInt32, _ party: FairScheduler.Party,
    _ scheduler: ConnectionScheduler, on loop: SocketLoop, since begun: NIODeadline
  ) -> String? {
    let isUnauthorized = caller.caller.isUnauthorized
    let connectionParty = FairScheduler.Party(caller.caller, user: uid)
    let transport = Transport(socket, on: loop, maxUnsent: service.limits.unreadReplyBytes)
    let handler = ConnectionHandler(
      caller: caller, service: service, scheduler: scheduler, through: transport,
      party: connectionParty
    ) { [open, count] handler in
      open.remove(handler)
      if isUnauthorized { count.removeUnauthorized() }
      count.remove(uid)
    }
    open.add(handler, on: loop)
    do throws(UsherError) {
      try handler.begin(since: begun)
    } catch {
      return error.message
    }
    // Charge the user, too, so that a user without rights is refused if it connects too often.
    // Charge at the end: otherwise the next connect of a flood would not count as having waited.
    if connectionParty != party { scheduler.recordRefusal(party, since: begun) }
    return nil
  }

  func logNotAccepting(_ cause: String) { service.logNotAccepting(cause) }

  /// Sends one line, for which a new socket's buffer always has room, and closes the socket.
  private func refuse(_ socket: DirectSocket, _ line: [UInt8]) {
    _ = line.withUnsafeBytes { socket.send($0) }
    socket.close()
  }

  private static let notAdmin = UsherError(
    .permissionDenied,
    "the admin socket is for root and the daemon's own user; use the other socket")

  private static let tooManyConnects = UsherError(
    .overloaded, "this user connects too often: try again in a second",
    detail: .init(retryAfterMs: 1000, limit: "user_share_percent"))

  /// Returns the line that refuses a connection, with its line end. A repeated error of one user
  /// gets the same line for one second.
  private func refusal(_ error: UsherError, _ uid: UInt32, at now: NIODeadline) -> [UInt8] {
    lastRefusal.withLock { last in
      if let last, last.limit == error.detail.limit, last.uid == uid, last.until > now {
        return last.line
      }
      let line = service.errorReply(error, .null, "uid \(uid)") + [UInt8(ascii: "\n")]
      last = Refused(uid: uid, limit: error.detail.limit, until: now + .seconds(1), line: line)
      return line
    }
  }

  /// Returns the scheduler that all connections share; the first connection creates it.
  private func scheduler(on loop: SocketLoop) -> ConnectionScheduler {
    shared.withLock { shared in
      let created = shared ?? OnLoop(ConnectionScheduler(service.configStore, on: loop), loop)
      shared = created
      return created
    }.value
  }
}
