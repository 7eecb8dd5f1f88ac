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
  static let maxBodyBytes = 64 * 1024
  /// The maximum duration of a connection.
  static let maxDuration = Duration.seconds(10)

  /// The provider whose callbacks arrive at the address, and the dialect of these callbacks.
  struct Endpoint: Sendable {
    let dialect: any CallbackDialect
    let provider: ProviderConfig
  }

  private let channel: any Channel
  private let connections: RedirectConnections
  private let currentEndpoint: CurrentEndpoint

  /// Binds the address. Connections wait in the backlog until the first ``serve(_:)``.
  static func open(
    at address: LoopbackAddress, on group: any EventLoopGroup, _ service: CallbackService
  ) async throws -> CallbackListener {
    let connections = RedirectConnections()
    let currentEndpoint = CurrentEndpoint()
    let channel = try await ServerBootstrap.loopback(on: group, service.dependencies) { channel in
      // Registered before the provider is read, so that a closing listener finds each connection.
      guard let connection = connections.admit(channel, to: currentEndpoint),
        let endpoint = currentEndpoint.endpoint
      else {
        return nil
      }
      return CallbackHandler(endpoint, service, connection)
    }
    .serverChannelOption(.autoRead, value: false)
    .bind(host: address.host, port: address.port).get()
    return CallbackListener(
      channel: channel, connections: connections, currentEndpoint: currentEndpoint)
  }

  /// Sets the provider for callbacks of new connections; requests in progress keep the old one.
  func serve(_ endpoint: Endpoint) {
    if currentEndpoint.replace(by: endpoint) {
      channel.setOption(.autoRead, value: true).whenComplete { _ in }
    }
  }

  /// Closes the listener and its connections, without waiting for requests in progress.
  func close() async {
    _ = currentEndpoint.replace(by: nil)
    try? await channel.close()
    connections.closeAll(of: currentEndpoint)
  }
}

/// The provider whose callbacks a listener currently accepts.
private final class CurrentEndpoint: Sendable {
  private let current = Mutex<CallbackListener.Endpoint?>(nil)

  var endpoint: CallbackListener.Endpoint? { current.withLock { $0 } }

  /// Sets the provider whose callbacks are accepted; nil: new connections are closed.
  ///
  /// - Returns: Whether there was no provider before.
  func replace(by endpoint: CallbackListener.Endpoint?) -> Bool {
    current.withLock { exchange(&$0, with: endpoint) == nil }
  }
}

/// Reads one HTTP request, passes it to the service, writes the response and closes the connection.
private final class CallbackHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart

  private let endpoint: CallbackListener.Endpoint
  private let service: CallbackService
  private let connection: RedirectConnections.Connection
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []
  private var isAnswered = false
  private var deadline: ScheduledTimer?

  init(
    _ endpoint: CallbackListener.Endpoint, _ service: CallbackService,
    _ connection: RedirectConnections.Connection
  ) {
    self.endpoint = endpoint
    self.service = service
    self.connection = connection
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    deadline = service.dependencies.scheduler.after(CallbackListener.maxDuration) {
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
      if body.count > CallbackListener.maxBodyBytes { answer(.tooLarge, context.channel) }
    case .end: handleRequest(context.channel)
    }
  }

  private func refusal(of head: HTTPRequestHead) -> CallbackOutcome? {
    let path = head.uri.prefix { $0 != "?" }
    guard path == endpoint.dialect.path else { return .otherPath }
    guard head.method.rawValue == endpoint.dialect.method.rawValue else { return .otherMethod }
    let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
    return length > CallbackListener.maxBodyBytes ? .tooLarge : nil
  }

  /// Passes the request to the service in a task, because the outcome waits for the disk, which
  /// must not block the event loop.
  private func handleRequest(_ channel: any Channel) {
    guard let head else { return }
    isAnswered = true
    connection.protect()
    let values = head.headers["authorization"]
    // White space around a header value does not belong to the value (RFC 9110 §5.5).
    let value = values.count == 1 ? values[0].trimmingBlanks : nil
    let authorization = value.map { Secret($0) }
    let call = CallbackService.Call(authorization: authorization, body: body, endpoint: endpoint)
    Task(executorPreference: service.dependencies.executor) { [service] in
      channel.answer(call.endpoint.dialect.answer(await service.handle(call)))
    }
  }

  private func answer(_ outcome: CallbackOutcome, _ channel: any Channel) {
    isAnswered = true
    channel.answer(endpoint.dialect.answer(outcome))
  }
}

extension Channel {
  fileprivate func answer(_ reply: HTTPReply) {
    let headers = reply.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    answer(reply.status, HTTPHeaders(headers), ByteBuffer(bytes: reply.body))
  }
}
