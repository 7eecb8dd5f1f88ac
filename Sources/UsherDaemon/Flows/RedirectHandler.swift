import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import UsherCore
import UsherFlows
import UsherSystem

/// Decides about the requests to redirect listeners.
final class RedirectJudge: Sendable {
  /// Lookups of a browser's user within a second for the flows of one user.
  static let mostLookups = 10

  private struct Lookups {
    var began = NIODeadline.distantPast
    var counts: [UInt32: Int] = [:]
  }

  private let uid: @Sendable (LoopbackPeer.Endpoint, LoopbackPeer.Endpoint) -> UInt32?
  private let strangers: RepeatedNotice
  private let log: Logger
  private let lookups = Mutex(Lookups())

  init(
    uid: @escaping @Sendable (LoopbackPeer.Endpoint, LoopbackPeer.Endpoint) -> UInt32?,
    strangers: RepeatedNotice, log: Logger
  ) {
    self.uid = uid
    self.strangers = strangers
    self.log = log
  }

  enum Verdict {
    case page(RedirectPage)
    /// It has the flow's path and state; whose browser sent it has yet to be looked up.
    case answer(RedirectAnswer, RedirectRoute)
  }

  /// Compares what a request carries, which costs little; nothing is asked of the kernel.
  func judge(_ head: HTTPRequestHead, at port: RedirectPort, server: SocketAddress?) -> Verdict {
    let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let query = parts.count == 2 ? String(parts[1]) : ""
    let finding = port.find(path: Secret(String(parts.first ?? "")), query: query)
    if case .otherPath = finding { return .page(.unknown) }
    guard head.method == .GET else { return .page(.onlyGET) }
    guard case .route(let route) = finding, let number = server?.port,
      head.headers["host"] == [route.expectation.authority(port: number)],
      case .ours(let answer) = RedirectReading(
        query: query, state: route.expectation.state, form: route.expectation.form)
    else { return .page(.notOurs) }
    return .answer(answer, route)
  }

  /// Hands an answer to its flow if the flow's owner sent it.
  ///
  /// - Returns: What the browser shows.
  func deliver(
    _ answer: RedirectAnswer, _ route: RedirectRoute, client: SocketAddress?, server: SocketAddress?
  ) async -> RedirectPage {
    guard mayLookUp(for: route.owner) else { return .busy }
    guard await isOwners(route.owner, client, server) else {
      if let count = strangers.due() {
        log.notice(
          "a browser of another user came to a redirect listener",
          metadata: ["count": .stringConvertible(count)])
      }
      return .otherUser
    }
    if let page = await route.onAnswer(answer) { return page }
    return answer.error == nil && answer.code != nil ? .pending : .notSignedIn(nil)
  }

  /// The lookup reads the list of all sockets where netlink is not allowed, as in the system unit.
  private func isOwners(
    _ owner: UInt32, _ client: SocketAddress?, _ server: SocketAddress?
  ) async -> Bool {
    guard let client = client?.endpoint, let server = server?.endpoint else { return false }
    return await Aside.run { [uid] in uid(client, server) } == owner
  }

  private func mayLookUp(for owner: UInt32) -> Bool {
    let now = NIODeadline.now()
    return lookups.withLock { lookups in
      if now - lookups.began >= .seconds(1) { lookups = Lookups(began: now) }
      lookups.counts[owner, default: 0] += 1
      return lookups.counts[owner, default: 0] <= Self.mostLookups
    }
  }
}

extension SocketAddress {
  var endpoint: LoopbackPeer.Endpoint? {
    guard let ipAddress, let port, let number = UInt16(exactly: port) else { return nil }
    return LoopbackPeer.Endpoint(address: ipAddress, port: number)
  }
}

/// Answers one request and closes.
final class RedirectHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// Upper bound of a connection's life: anybody on this machine can open one and say nothing.
  private static let longest = TimeAmount.seconds(10)
  /// How long a browser waits for its sign-in to end before it gets a page that says so.
  private static let patience = TimeAmount.seconds(5)

  private let judge: RedirectJudge
  private let port: RedirectPort
  private let place: RedirectConnections.Place
  private var isAnswered = false
  private var deadline: Scheduled<Void>?

  init(_ judge: RedirectJudge, _ port: RedirectPort, _ place: RedirectConnections.Place) {
    self.judge = judge
    self.port = port
    self.place = place
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data), !isAnswered else { return }
    isAnswered = true
    let reply = RedirectReply(context.channel)
    switch judge.judge(head, at: port, server: context.localAddress) {
    case .page(let page): reply.write(page)
    case .answer(let answer, let route):
      place.hold()
      context.eventLoop.scheduleTask(in: Self.patience) { reply.write(.pending) }
      deliver(answer, route, reply, client: context.remoteAddress, server: context.localAddress)
    }
  }

  private func deliver(
    _ answer: RedirectAnswer, _ route: RedirectRoute, _ reply: RedirectReply,
    client: SocketAddress?, server: SocketAddress?
  ) {
    Task { [judge] in
      reply.write(await judge.deliver(answer, route, client: client, server: server))
    }
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    deadline = context.eventLoop.scheduleTask(in: Self.longest) { channel.close(promise: nil) }
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

/// The one reply of a connection: the first page that is written is the one the browser gets.
private final class RedirectReply: Sendable {
  private let channel: any Channel
  private let isWritten = Mutex(false)

  init(_ channel: any Channel) { self.channel = channel }

  func write(_ page: RedirectPage) {
    let isFirst = isWritten.withLock { isWritten in
      defer { isWritten = true }
      return !isWritten
    }
    guard isFirst else { return }
    channel.eventLoop.execute { [channel] in Self.write(page, to: channel) }
  }

  private static func write(_ page: RedirectPage, to channel: any Channel) {
    let body = ByteBuffer(string: page.html)
    let headers: HTTPHeaders = [
      "content-type": "text/html; charset=utf-8", "content-length": "\(body.readableBytes)",
      "cache-control": "no-store", "referrer-policy": "no-referrer",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "x-content-type-options": "nosniff", "connection": "close",
    ]
    let head = HTTPResponseHead(
      version: .http1_1, status: .init(statusCode: page.status), headers: headers)
    channel.write(HTTPServerResponsePart.head(head), promise: nil)
    channel.write(HTTPServerResponsePart.body(.byteBuffer(body)), promise: nil)
    channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in
      channel.close(promise: nil)
    }
  }
}
