import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows
import UsherSystem

/// Listens at one loopback address for a provider's callbacks. Each connection carries one small
/// HTTP request and is closed after the response.
struct CallbackListener: Sendable {
  /// The maximum length of a request body, in bytes.
  static let longestBody = 64 * 1024
  /// The maximum duration of a connection.
  static let longest = Duration.seconds(10)

  /// The provider whose callbacks arrive at the address, and the dialect of these callbacks.
  struct Post: Sendable {
    let dialect: any CallbackDialect
    let provider: ProviderConfig
  }

  private let channel: any Channel
  private let places: RedirectConnections
  private let posting: Posting

  /// Binds the address. Connections wait in the backlog until the first ``serve(_:)``.
  static func open(
    at address: LoopbackAddress, on group: any EventLoopGroup, _ service: CallbackService
  ) async throws -> CallbackListener {
    let places = RedirectConnections()
    let posting = Posting()
    let channel = try await ServerBootstrap.loopback(on: group, service.dependencies) { channel in
      // Registered before the provider is read, so that a closing listener finds each connection.
      guard let place = places.admit(channel, to: posting), let post = posting.post else {
        return nil
      }
      return CallbackHandler(post, service, place)
    }
    .serverChannelOption(.autoRead, value: false)
    .bind(host: address.host, port: address.port).get()
    return CallbackListener(channel: channel, places: places, posting: posting)
  }

  /// Sets the provider for callbacks of new connections; requests in progress keep the old one.
  func serve(_ post: Post) {
    if posting.change(to: post) { channel.setOption(.autoRead, value: true).whenComplete { _ in } }
  }

  /// Closes the listener and its connections, without waiting for requests in progress.
  func close() async {
    _ = posting.change(to: nil)
    try? await channel.close()
    places.closeAll(of: posting)
  }
}

/// The provider whose callbacks a listener currently accepts.
private final class Posting: Sendable {
  private let current = Mutex<CallbackListener.Post?>(nil)

  var post: CallbackListener.Post? { current.withLock { $0 } }

  /// Sets the provider whose callbacks are accepted; nil: new connections are closed.
  ///
  /// - Returns: Whether there was no provider before.
  func change(to post: CallbackListener.Post?) -> Bool {
    current.withLock { current in
      defer { current = post }
      return current == nil
    }
  }
}

extension String {
  fileprivate var trimmingBlanks: String {
    let front = drop { $0 == " " || $0 == "\t" }
    return String(
      front.prefix(front.count - front.reversed().prefix { $0 == " " || $0 == "\t" }.count))
  }
}

/// Reads one HTTP request, passes it to the service, writes the response and closes the connection.
private final class CallbackHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let post: CallbackListener.Post
  private let service: CallbackService
  private let place: RedirectConnections.Place
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []
  private var isAnswered = false
  private var deadline: ScheduledTimer?

  init(
    _ post: CallbackListener.Post, _ service: CallbackService, _ place: RedirectConnections.Place
  ) {
    self.post = post
    self.service = service
    self.place = place
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    deadline = service.dependencies.scheduler.after(CallbackListener.longest) {
      channel.close(promise: nil)
    }
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isAnswered else { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      if let refusal = refusal(of: head) { answer(refusal, context.channel) }
    case .body(let part):
      body += part.readableBytesView
      if body.count > CallbackListener.longestBody { answer(.tooLarge, context.channel) }
    case .end: handleRequest(context.channel)
    }
  }

  private func refusal(of head: HTTPRequestHead) -> CallbackOutcome? {
    let path = head.uri.prefix { $0 != "?" }
    guard path == post.dialect.path else { return .otherPath }
    guard head.method.rawValue == post.dialect.method.rawValue else { return .otherMethod }
    let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
    return length > CallbackListener.longestBody ? .tooLarge : nil
  }

  /// Passes the request to the service in a task, because the outcome waits for the disk, which
  /// must not block the event loop.
  private func handleRequest(_ channel: any Channel) {
    guard let head else { return }
    isAnswered = true
    place.hold()
    let values = head.headers["authorization"]
    // White space around a header value does not belong to the value (RFC 9110 §5.5).
    let value = values.count == 1 ? values[0].trimmingBlanks : nil
    let authorization = value.map { Secret($0) }
    let call = CallbackService.Call(authorization: authorization, body: body, post: post)
    Task(executorPreference: service.dependencies.executor) { [service] in
      channel.answer(call.post.dialect.answer(await service.handle(call)))
    }
  }

  private func answer(_ outcome: CallbackOutcome, _ channel: any Channel) {
    isAnswered = true
    channel.answer(post.dialect.answer(outcome))
  }
}

extension Channel {
  fileprivate func answer(_ reply: HTTPReply) {
    let headers = reply.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    answer(reply.status, HTTPHeaders(headers), ByteBuffer(bytes: reply.body))
  }
}
