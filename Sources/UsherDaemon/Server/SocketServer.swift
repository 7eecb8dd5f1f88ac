import JSONRPC
import NIOCore
import Synchronization
import UsherConfig
import UsherCore
import UsherSystem

/// Serves one listening Unix socket. Transport only: bytes in, bytes out, caller, close.
final class SocketServer: Sendable {
  /// How many may wait to be accepted; the kernel makes it `net.core.somaxconn`, usually 4096, where
  /// that is less. A connect that does not block fails where the queue is full, whoever filled it, so
  /// the queue is long; it is short-lived, because ``Listener`` accepts whoever waits.
  private static let queue = 65_535

  private let loop: SocketLoop
  private let listener: OnLoop<Listener>
  /// Removes the socket's file where it is ours to remove.
  private let removeFile: @Sendable () -> Void

  /// - Parameters:
  ///   - descriptor: Listening; the server closes it.
  ///   - path: The socket's file where it is ours to remove.
  ///   - isAdmin: Whether admin methods exist on it.
  ///   - remove: Removes it.
  static func serve(
    _ descriptor: CInt, path: String?, isAdmin: Bool, on loop: SocketLoop,
    acceptor: ConnectionAcceptor,
    removing remove: @escaping @Sendable (_ path: String) -> Void
  ) async throws -> SocketServer {
    let socket = DirectSocket(descriptor)
    try socket.listen(waiting: queue)
    let listener = try await loop.submit {
      let listener = Listener(
        socket, on: loop,
        accept: { isAdmin ? $0.accept() : acceptor.accept(from: $0, on: loop) },
        welcome: { acceptor.admit($0, on: loop, isAdmin: isAdmin, isCrowded: $1) },
        tell: { acceptor.service.noteFullHouse($0) })
      try listener.begin(.readable)
      return OnLoop(listener, loop)
    }
    return SocketServer(listener, on: loop) { if let path { remove(path) } }
  }

  private init(
    _ listener: OnLoop<Listener>, on loop: SocketLoop, removeFile: @escaping @Sendable () -> Void
  ) {
    self.listener = listener
    self.loop = loop
    self.removeFile = removeFile
  }

  /// From when it returns on nobody is let in.
  func close() async {
    removeFile()
    try? await loop.submit { [listener] in listener.value.close() }
  }
}

/// Looks at who comes in, once, and gives them a connection or a reason.
final class ConnectionAcceptor: Sendable {
  let service: RPCService
  private let realm: String
  private let count: ConnectionCount
  private let open: OpenConnections
  /// Who may use the admin socket.
  private let admins: Set<UInt32>
  private let sockets: any LocalSockets
  private let turns = Mutex<OnLoop<ConnectionScheduler>?>(nil)
  /// Users that came so often that they were not even told: who they are is all that is looked at.
  private let turnedAway = Mutex(TurnedAway())
  private let closer: SocketCloser
  /// The last refusal: who comes a thousand times in a second is told the same.
  private let lastRefusal = Mutex<Refused?>(nil)

  private struct TurnedAway {
    static let most = 16
    var uids: [UInt32] = []
    /// Of the first of them, to whom what it costs is charged.
    var party = FairScheduler.Party.admin
    var until = NIODeadline.distantPast
  }

  private struct Refused {
    let uid: UInt32
    let limit: String?
    let until: NIODeadline
    let line: [UInt8]
  }

  init(
    service: RPCService, realm: String, count: ConnectionCount, open: OpenConnections
  ) {
    self.service = service
    self.realm = realm
    let dependencies = service.dependencies
    admins = [0, dependencies.daemonUser]
    sockets = dependencies.sockets
    closer = SocketCloser { dependencies.blocking.start($0) }
    self.count = count
    self.open = open
  }

  /// From now on the limits of a user count for its subordinate ids, too, as these say, and new
  /// connections of these ids do not escape the rules about the user.
  func apply(_ subordinates: SubordinateUsers) { service.subordinates.apply(subordinates) }

  /// Has every connection answer what it has heard, and close; returns when all are closed.
  ///
  /// - Parameter limits: What is not answered within their `drain_seconds` gets `shutting_down`; who
  ///   does not read that within their `unread_reply_seconds` loses it.
  func drain(within limits: Limits, _ scheduler: any Scheduler) async {
    open.tell { $0.drain(unreadReplySeconds: limits.unreadReplySeconds) }
    let timer = scheduler.after(.seconds(limits.drainSeconds)) { [service, open] in
      service.drain()
      open.tell { $0.end() }
    }
    await open.allClosed()
    timer.cancel()
  }

  /// Accepts one who waits, on the loop. Whoever was turned away just now is closed at once: in a flood
  /// of connects the queue is emptied faster than one user fills it.
  func accept(from listener: DirectSocket, on loop: SocketLoop) -> DirectSocket.Accepted {
    let begun = loop.now
    let (uids, party) = turnedAway.withLock { turnedAway in
      if turnedAway.until <= begun { turnedAway.uids = [] }
      return (turnedAway.uids, turnedAway.party)
    }
    guard !uids.isEmpty else { return listener.accept() }
    let (accepted, closed) = listener.accept(closing: uids, by: closer)
    if closed > 0 { turns(on: loop).refused(party, since: begun) }
    return accepted
  }

  /// How long a user is turned away. It is short, because the connects that the user may make in that time
  /// are let in together at its end.
  private static let turnedAwayTime = TimeAmount.milliseconds(10)

  private func turnAway(_ uid: UInt32, _ party: FairScheduler.Party, at now: NIODeadline) {
    turnedAway.withLock { turnedAway in
      if turnedAway.uids.isEmpty {
        turnedAway.party = party
        turnedAway.until = now + Self.turnedAwayTime
      }
      if turnedAway.uids.count < TurnedAway.most { turnedAway.uids.append(uid) }
    }
  }

  /// On the loop. Whoever is not let in is closed when it returns.
  ///
  /// - Parameter isCrowded: Whether more wait than are accepted.
  /// - Returns: Why it cannot be told who came, or he cannot be heard.
  func admit(
    _ socket: DirectSocket, on loop: SocketLoop, isAdmin: Bool, isCrowded: Bool = false
  ) -> String? {
    let begun = loop.now
    let turns = turns(on: loop)
    let own: UInt32
    do throws(UsherError) {
      own = try sockets.user(socket.raw)
    } catch {
      socket.close()
      return error.message
    }
    /// Whose limits count.
    let user = service.subordinates.user(ofSubordinate: own)
    let uid = user ?? own
    // The socket's mode is one lock, this is the other: a mode can be slipped.
    guard !isAdmin || admins.contains(own) else {
      refuse(socket, refusal(Self.notAdmin, uid, at: begun))
      return nil
    }
    // Before more is asked of who it is: being refused must not cost the daemon more than it must.
    let party = isAdmin ? FairScheduler.Party.admin : .user(uid)
    do throws(UsherError) {
      switch turns.comes(party, isCrowded: isCrowded, at: begun) {
      case .turnedAway:
        socket.close()
        turnAway(own, party, at: begun)
        turns.refused(party, since: begun)
        return nil
      case .refused: throw Self.comesTooOften
      case .comesIn:
        let use: DescriptorBudget.Use = isAdmin ? .administrator : .caller
        guard service.descriptors.allows(socket.raw, for: use) else {
          refuse(socket, refusal(DescriptorBudget.exhausted, uid, at: begun))
          turns.refused(party, since: begun)
          return DescriptorBudget.exhausted.message
        }
        try count.enter(uid, isAdmin: isAdmin)
      }
    } catch {
      refuse(socket, refusal(error, uid, at: begun))
      turns.refused(party, since: begun)
      return nil
    }
    let peer: Peer
    do throws(UsherError) {
      peer = try sockets.peer(socket.raw)
    } catch {
      // Whom we cannot tell, we do not serve.
      count.leave(uid)
      refuse(socket, refusal(error, uid, at: begun))
      turns.refused(party, since: begun)
      // What anybody can cause at will is not for the journal.
      return error.reason == .permissionDenied ? nil : error.message
    }
    let connectingPeer = PeerIdentity(
      peer, isAdmin: isAdmin, realm: realm,
      subordinateTo: service.subordinates.owners(ofSubordinate: peer.uid),
      connectedAt: service.monotonicNow)
    let caller = CallerCache(connectingPeer, service.configStore)
    let isUnauthorized = caller.caller.isUnauthorized
    if isUnauthorized {
      do throws(UsherError) {
        try count.enterUnauthorized()
      } catch {
        count.leave(uid)
        refuse(socket, refusal(error, uid, at: begun))
        turns.refused(party, since: begun)
        return nil
      }
    }
    let share = FairScheduler.Party(caller.caller, user: uid)
    let transport = Transport(socket, on: loop, mostUnsent: service.limits.unreadReplyBytes)
    let handler = ConnectionHandler(
      caller: caller, service: service, turns: turns, through: transport, party: share
    ) { [open, count] handler in
      open.remove(handler)
      if isUnauthorized { count.leaveUnauthorized() }
      count.leave(uid)
    }
    open.add(handler, on: loop)
    do throws(UsherError) {
      try handler.begin(since: begun)
    } catch {
      return error.message
    }
    // The user pays for the connection, too: one that comes too often is refused. Not before the end, else
    // the next one of a flood would not seem to have waited.
    if share != party { turns.refused(party, since: begun) }
    return nil
  }

  /// Says one line, which there is room for where nothing was said before, and closes.
  private func refuse(_ socket: DirectSocket, _ line: [UInt8]) {
    _ = line.withUnsafeBytes { socket.send($0) }
    socket.close()
  }

  private static let notAdmin = UsherError(
    .permissionDenied,
    "the admin socket is for root and the daemon's own user; use the other socket")

  private static let comesTooOften = UsherError(
    .overloaded, "this user connects too often",
    detail: .init(retryAfterMs: 1000, limit: "user_share_percent"))

  /// - Returns: A line with its end.
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

  /// Made for the first connection, and then everybody's.
  private func turns(on loop: SocketLoop) -> ConnectionScheduler {
    turns.withLock { turns in
      let made = turns ?? OnLoop(ConnectionScheduler(service.configStore, on: loop), loop)
      turns = made
      return made
    }.value
  }
}
