import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import UsherCore
import UsherFlows
import UsherSystem

/// Opens the loopback listeners a browser comes back to (RFC 8252 §7.3, §8.3).
struct RedirectListeners: Sendable {
  let group: any EventLoopGroup
  /// The uid behind a loopback connection's other end, as the kernel says.
  let uid: @Sendable (_ client: LoopbackPeer.Endpoint, _ server: LoopbackPeer.Endpoint) -> UInt32?
  let log: Logger
  var descriptors = DescriptorBudget.unlimited

  /// - Parameters:
  ///   - owner: Only a browser of this user may answer: else one user could finish another's log-in
  ///     in his own name.
  ///   - onAnswer: Gets the one answer whose state is right.
  /// - Throws: `overloaded` where a listener would use the last descriptors; the kernel's words where
  ///   it cannot listen.
  func open(
    _ expectation: RedirectExpectation, for owner: UInt32,
    onAnswer: @escaping @Sendable (RedirectAnswer) -> Void
  ) async throws -> RedirectListener {
    guard descriptors.hasRoom(for: .provider) else { throw DescriptorBudget.exhausted }
    let judge = RedirectJudge(
      expectation: expectation, owner: owner, uid: uid, log: log, onAnswer: onAnswer)
    let connections = OpenChannels()
    let channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: 16)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelInitializer { [descriptors] channel in
        guard descriptors.hasRoom(for: .caller) else { return channel.close() }
        connections.add(channel)
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withErrorHandling: true)
          try channel.pipeline.syncOperations.addHandlers([
            RedirectHandler(judge)
          ])
        }
      }
      .bind(host: expectation.host, port: expectation.port ?? 0).get()
    return RedirectListener(channel, connections, expectation)
  }
}

/// One open listener.
final class RedirectListener: Sendable {
  private let channel: any Channel
  private let connections: OpenChannels
  let redirectURI: String

  fileprivate init(
    _ channel: any Channel, _ connections: OpenChannels, _ expectation: RedirectExpectation
  ) {
    self.channel = channel
    self.connections = connections
    redirectURI = expectation.uri(port: channel.localAddress?.port ?? expectation.port ?? 0)
  }

  /// Nobody comes in any more; who is in gets his page.
  func close() { channel.close(promise: nil) }

  /// Nobody comes in any more, and who is in goes.
  func closeAll() {
    close()
    connections.close()
  }
}

extension RedirectExpectation {
  fileprivate func uri(port: Int) -> String { "http://\(authority(port: port))\(path)" }

  func authority(port: Int) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

/// Decides about one request to a listener.
struct RedirectJudge: Sendable {
  let expectation: RedirectExpectation
  let owner: UInt32
  let uid: @Sendable (LoopbackPeer.Endpoint, LoopbackPeer.Endpoint) -> UInt32?
  let log: Logger
  let onAnswer: @Sendable (RedirectAnswer) -> Void

  /// - Returns: The page to show. Only an answer with the right state moves the flow.
  func judge(
    _ head: HTTPRequestHead, client: SocketAddress?, server: SocketAddress?
  ) -> RedirectPage {
    let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    // It may have a secret in it: compared without telling where it differs.
    guard Secret(String(parts.first ?? "")) == Secret(expectation.path) else { return .unknown }
    guard head.method == .GET else { return .onlyGET }
    guard let port = server?.port,
      head.headers["host"] == [expectation.authority(port: port)]
    else { return .notOurs }
    guard isOwners(client, server) else {
      log.notice("a browser of another user came to a redirect listener")
      return .otherUser
    }
    switch RedirectReading(
      query: parts.count == 2 ? String(parts[1]) : "", state: expectation.state,
      form: expectation.form)
    {
    case .notOurs, .refused: return .notOurs
    case .ours(let answer):
      onAnswer(answer)
      return answer.error == nil && answer.code != nil ? .arrived : .refused
    }
  }

  private func isOwners(_ client: SocketAddress?, _ server: SocketAddress?) -> Bool {
    guard let client = client?.endpoint, let server = server?.endpoint else { return false }
    return uid(client, server) == owner
  }
}

extension SocketAddress {
  fileprivate var endpoint: LoopbackPeer.Endpoint? {
    guard let ipAddress, let port, let number = UInt16(exactly: port) else { return nil }
    return LoopbackPeer.Endpoint(address: ipAddress, port: number)
  }
}

/// What the browser shows when it has come back.
enum RedirectPage {
  case arrived, refused, notOurs, otherUser, onlyGET, unknown

  var status: HTTPResponseStatus {
    switch self {
    case .arrived, .refused: .ok
    case .notOurs: .badRequest
    case .otherUser: .forbidden
    case .onlyGET: .methodNotAllowed
    case .unknown: .notFound
    }
  }

  private var text: (title: String, sentence: String) {
    switch self {
    // The code has yet to be redeemed: how that ends, the program says.
    case .arrived:
      ("Signed in", "You may close this tab. Your program goes on from here.")
    case .refused: ("Not signed in", "The provider did not sign you in. You may close this tab.")
    case .notOurs: ("Not for us", "This answer does not belong to the sign-in that waits here.")
    case .otherUser: ("Not yours", "This sign-in was started by another user of this machine.")
    case .onlyGET: ("Not so", "Only a browser's GET is answered here.")
    case .unknown: ("Nothing here", "This page does not exist.")
    }
  }

  private var color: String {
    switch self {
    case .arrived: "#15803d"
    case .refused, .notOurs, .otherUser, .onlyGET, .unknown: "#b45309"
    }
  }

  var html: String {
    """
    <!doctype html><html lang="en"><meta charset="utf-8"><title>\(text.title)</title>
    <meta name="viewport" content="width=device-width">
    <style>
    :root{color-scheme:light dark}
    body{font:1.1rem/1.5 system-ui,sans-serif;margin:20vh auto;max-width:32rem;padding:0 1rem}
    main{border-left:.4rem solid \(color);padding:.1rem 1.5rem}
    footer{margin-top:2rem;font-size:.9rem;opacity:.7}
    </style><main><h1>\(text.title)</h1><p>\(text.sentence)</p></main>
    <footer>This page comes from usherd, on this machine.</footer></html>

    """
  }
}

/// Answers one request and closes.
private final class RedirectHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// Seconds a connection may last: anybody on this machine can open one and say nothing, or little.
  private static let longest = TimeAmount.seconds(10)

  private let judge: RedirectJudge
  private var isAnswered = false
  private var deadline: Scheduled<Void>?

  init(_ judge: RedirectJudge) { self.judge = judge }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data), !isAnswered else { return }
    isAnswered = true
    let page = judge.judge(
      head, client: context.remoteAddress, server: context.localAddress)
    answer(page, context)
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

  private func answer(_ page: RedirectPage, _ context: ChannelHandlerContext) {
    let body = ByteBuffer(string: page.html)
    let headers: HTTPHeaders = [
      "content-type": "text/html; charset=utf-8", "content-length": "\(body.readableBytes)",
      "cache-control": "no-store", "referrer-policy": "no-referrer",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "x-content-type-options": "nosniff", "connection": "close",
    ]
    let head = HTTPResponseHead(version: .http1_1, status: page.status, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      channel.close(promise: nil)
    }
  }
}
