import JSONRPC
import NIOCore
import NIOPosix
import Synchronization
import UsherConfig
import UsherCore
import UsherSystem

/// Serves one listening Unix socket. Transport only: bytes in, bytes out, caller, close.
final class SocketServer: Sendable {
  private let channel: any Channel
  private let path: String?

  /// - Parameters:
  ///   - descriptor: Listening; the server closes it.
  ///   - path: The socket's file where it is ours to remove.
  ///   - isAdmin: Whether admin methods exist on it.
  static func serve(
    _ descriptor: CInt, path: String?, isAdmin: Bool, on group: any EventLoopGroup, door: Door
  ) async throws -> SocketServer {
    // One newcomer between two looks at the others.
    let channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try door.admit(channel, isAdmin: isAdmin) }
      }
      .withBoundSocket(descriptor).get()
    // Its queue has 128 places. One that comes again and again fills any: who comes then is behind
    // all of it, so it must not be longer.
    return SocketServer(channel, path)
  }

  private init(_ channel: any Channel, _ path: String?) {
    self.channel = channel
    self.path = path
  }

  func close() async {
    if let path { UnixListener.unlink(path: path) }
    try? await channel.close().get()
  }
}

/// Looks at who comes in, once, and gives them a connection or a reason.
final class Door: Sendable {
  let service: RPCService
  private let realm: String
  private let count: ConnectionCount
  private let open: OpenChannels
  private let turns = Mutex<NIOLoopBound<LoopTurns>?>(nil)
  /// The last refusal: who comes a thousand times in a second is told the same.
  private let lastRefusal = Mutex<Refused?>(nil)

  private struct Refused {
    let uid: UInt32
    let limit: String?
    let until: NIODeadline
    let line: [UInt8]
  }

  init(
    service: RPCService, realm: String, count: ConnectionCount, open: OpenChannels
  ) {
    self.service = service
    self.realm = realm
    self.count = count
    self.open = open
  }

  /// Has every connection answer what it has heard, and close; returns when all are closed.
  ///
  /// - Parameter limits: What is not answered within their `drain_seconds` gets `shutting_down`; who
  ///   does not read that within their `unread_reply_seconds` loses it.
  func drain(within limits: Limits, _ alarms: any Alarms) async {
    let channels = open.all
    let drain = DrainConnection(unreadReplySeconds: limits.unreadReplySeconds)
    for channel in channels { channel.pipeline.fireUserInboundEventTriggered(drain) }
    let alarm = alarms.after(.seconds(limits.drainSeconds)) { [service] in
      service.drain()
      for channel in channels {
        channel.pipeline.fireUserInboundEventTriggered(EndConnection())
      }
    }
    for channel in channels { try? await channel.closeFuture.get() }
    alarm.cancel()
  }

  func admit(_ channel: any Channel, isAdmin: Bool) throws {
    let begun = NIODeadline.now()
    let turns = turns(on: channel.eventLoop)
    let pipeline = channel.pipeline.syncOperations
    func ask<Answer>(_ question: (CInt) throws -> Answer) throws -> Answer {
      let answer = try pipeline.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self, question)
      guard let answer else {
        throw UsherError(.internalError, "the transport shows no descriptor")
      }
      return answer
    }
    let uid = try ask(Peer.user)
    // Before more is asked of who it is: being refused must not cost the daemon more than it must.
    let party = isAdmin ? FairShare.Party.admin : .user(uid)
    let welcome = turns.comes(party, at: begun)
    do {
      if welcome == .turnedAway { throw TurnedAway() }
      if welcome == .refused { throw Self.comesTooOften }
      try count.enter(uid, isAdmin: isAdmin)
    } catch let error as UsherError {
      try pipeline.addHandler(RefusalHandler(refusal(error, uid, at: begun)))
      return turns.refused(party, since: begun)
    } catch {
      // What throws here is closed before the loop has to watch it.
      turns.refused(party, since: begun)
      throw error
    }
    open.add(channel)
    channel.closeFuture.whenComplete { [self] _ in count.leave(uid) }
    try prepare(channel)
    let peer = try ask(Peer.read(fd:))
    let caller = CallerInForce(
      Newcomer(peer, isAdmin: isAdmin, realm: realm), service.settings)
    try pipeline.addHandler(
      ConnectionHandler(caller: caller, service: service, turns: turns, since: begun))
  }

  /// For those only who are let in.
  private func prepare(_ channel: any Channel) throws {
    guard let options = channel.syncOptions else { return }
    let most = service.limits.unreadReplyBytes
    // So many bytes of a connection between two looks at the others.
    try options.setOption(.maxMessagesPerRead, value: 1)
    try options.setOption(
      .recvAllocator,
      value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 2048, maximum: 16_384))
    try options.setOption(.allowRemoteHalfClosure, value: true)
    try options.setOption(.writeBufferWaterMark, value: .init(low: most / 2, high: most))
  }

  private struct TurnedAway: Error {}

  private static let comesTooOften = UsherError(
    .overloaded, "this user connects too often",
    detail: .init(retryAfterMs: 1000, limit: "user_share_percent"))

  private func refusal(_ error: UsherError, _ uid: UInt32, at now: NIODeadline) -> [UInt8] {
    lastRefusal.withLock { last in
      if let last, last.limit == error.detail.limit, last.uid == uid, last.until > now {
        return last.line
      }
      let line = service.errorReply(error, .null, "uid \(uid)")
      last = Refused(uid: uid, limit: error.detail.limit, until: now + .seconds(1), line: line)
      return line
    }
  }

  /// Made on the loop of the first connection, which is everybody's.
  private func turns(on loop: any EventLoop) -> LoopTurns {
    turns.withLock { turns in
      let made = turns ?? NIOLoopBound(LoopTurns(service.settings, on: loop), eventLoop: loop)
      turns = made
      return made
    }.value
  }
}

/// Says one line and closes.
private final class RefusalHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let line: [UInt8]

  init(_ line: [UInt8]) { self.line = line }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: line + [UInt8(ascii: "\n")])))
      .whenComplete { _ in channel.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
