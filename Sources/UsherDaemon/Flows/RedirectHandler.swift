import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import UsherCore
import UsherFlows
import UsherSystem

/// Judges the HTTP requests that browsers send to redirect listeners.
final class RedirectValidator: Sendable {
  /// The maximum number of look-ups of connected users per second, for the flows of one user.
  static let maxLookups = 10

  private struct Lookups {
    var began: Timestamp?
    var counts: [UInt32: Int] = [:]
  }

  let dependencies: Dependencies
  private let otherUserNotice: RepeatedNotice
  private let lookups = Mutex(Lookups())

  init(_ dependencies: Dependencies) {
    self.dependencies = dependencies
    otherUserNotice = RepeatedNotice(dependencies.clock)
  }

  enum Verdict {
    case page(RedirectPage)
    /// The request may carry an answer in its body, which has yet to arrive.
    case needsBody
    /// The request has a flow's path and state, but the browser's user is not verified yet.
    case answer(AuthorizationResponse, RedirectRoute)
  }

  /// Compares a request with the waiting flows. The comparison is cheap: it makes no system call.
  ///
  /// - Parameter body: The body of a request for which the verdict was ``Verdict/needsBody``.
  func validate(
    _ head: HTTPRequestHead, body: [UInt8]? = nil, at port: RedirectPort, server: SocketAddress?
  ) -> Verdict {
    let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = Secret(String(parts.first ?? ""))
    var parameters = parts.count == 2 ? String(parts[1]) : ""
    let isPosted = head.method == .POST && port.expectsPost(at: path)
    if isPosted {
      // Parameters in the URL would be a second answer.
      guard parts.count == 1, head.isForm else { return .page(.notOurs) }
      guard !head.isLonger(than: RedirectParseResult.maxLength) else { return .page(.tooLong) }
      guard let body else { return .needsBody }
      guard let text = String(validating: body, as: UTF8.self) else { return .page(.notOurs) }
      parameters = text
    }
    let match = port.find(path: path, parameters: parameters)
    if case .otherPath = match { return .page(.unknown) }
    guard head.method == .GET || isPosted else { return .page(.onlyGET) }
    guard case .route(let route) = match, let number = server?.port,
      head.headers["host"] == [route.expectation.authority(port: number)],
      case .accepted(let answer) = RedirectParseResult(
        query: parameters, state: route.expectation.state, form: route.expectation.form)
    else { return .page(.notOurs) }
    guard route.expectation.form.isPosted == isPosted else {
      return .page(isPosted ? .onlyGET : .onlyPOST)
    }
    return .answer(answer, route)
  }

  /// Asks the kernel whether a connection belongs to the flow's user.
  ///
  /// - Returns: The page that refuses the browser; nil if the flow's user sent the request.
  func refusal(
    _ route: RedirectRoute, client: SocketAddress?, server: SocketAddress?
  ) async -> RedirectPage? {
    guard mayLookUp(for: route.owner) else { return .busy }
    let loopbackUser = dependencies.sockets.loopbackUser
    // Runs on a blocking thread: without netlink, as in the system unit, the look-up reads the list
    // of all sockets.
    guard let client = client?.endpoint, let server = server?.endpoint,
      await dependencies.blocking.run({ loopbackUser(client, server) }) == route.owner
    else {
      if let count = otherUserNotice.due() {
        dependencies.log.notice(
          "another user's browser connected to a redirect listener",
          metadata: ["count": .stringConvertible(count)])
      }
      return .otherUser
    }
    return nil
  }

  /// Passes the provider's answer, which the browser of the flow's user delivered, to the flow.
  ///
  /// - Returns: The page for the browser.
  func deliver(_ answer: AuthorizationResponse, _ route: RedirectRoute) async -> RedirectPage {
    if let page = await route.onAnswer(answer) { return page }
    // Whether a signed answer has a code is known once it is verified.
    let mayHaveCode = answer.code != nil || answer.signed != nil
    return answer.error == nil && mayHaveCode ? .pending : .notSignedIn(nil)
  }

  /// Counts a look-up for a user's flows; returns false above the limit per second.
  private func mayLookUp(for owner: UInt32) -> Bool {
    let now = dependencies.clock.monotonicNow()
    return lookups.withLock { lookups in
      if lookups.began.map({ now - $0 >= .seconds(1) }) ?? true { lookups = Lookups(began: now) }
      lookups.counts[owner, default: 0] += 1
      return lookups.counts[owner, default: 0] <= Self.maxLookups
    }
  }
}

extension HTTPRequestHead {
  /// Whether the body is a form, as its only Content-Type says.
  fileprivate var isForm: Bool {
    let types = headers["content-type"]
    guard types.count == 1 else { return false }
    let type = types[0].prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
    return type.lowercased() == "application/x-www-form-urlencoded"
  }

  /// Whether the body has more bytes than a limit, as its head says.
  fileprivate func isLonger(than limit: Int) -> Bool {
    headers["content-length"].contains { (Int($0) ?? .max) > limit }
  }
}

extension SocketAddress {
  var endpoint: LoopbackPeer.Endpoint? {
    guard let ipAddress, let port, let number = UInt16(exactly: port) else { return nil }
    return LoopbackPeer.Endpoint(address: ipAddress, port: number)
  }
}

/// Time limits for the phases of a browser's request to a redirect listener.
enum RedirectTimes {
  /// From the connection to the request. It bounds connections that send nothing.
  static let request = Duration.seconds(10)
  /// The limit from a browser's request until the browser's user is known.
  static let lookup = Duration.seconds(5)
  /// The limit from the delivery of the provider's answer to the flow until the browser is told
  /// that the sign-in is still pending.
  static let outcome = Duration.seconds(5)

  /// From a request with a flow's state until the connection is closed.
  fileprivate static var answer: Duration { lookup + outcome + request }
}

/// Answers the first request on a connection to a redirect listener, then closes the connection.
final class RedirectHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart

  private let validator: RedirectValidator
  private let port: RedirectPort
  private let connection: RedirectConnections.Connection
  private var isAnswered = false
  /// The head of a request whose body is read, and what has arrived of the body.
  private var posted: (head: HTTPRequestHead, body: [UInt8])?
  private var deadline: ScheduledTimer?

  init(
    _ validator: RedirectValidator, _ port: RedirectPort,
    _ connection: RedirectConnections.Connection
  ) {
    self.validator = validator
    self.port = port
    self.connection = connection
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isAnswered else { return }
    switch unwrapInboundIn(data) {
    case .head(let head): handle(head, context)
    case .body(let bytes):
      guard var posted else { return }
      self.posted = nil
      posted.body += bytes.readableBytesView
      if posted.body.count > RedirectParseResult.maxLength {
        isAnswered = true
        RedirectReply(context.channel).write(.tooLong)
      } else {
        self.posted = posted
      }
    case .end:
      if let posted { handle(posted.head, body: posted.body, context) }
    }
  }

  private func handle(
    _ head: HTTPRequestHead, body: [UInt8]? = nil, _ context: ChannelHandlerContext
  ) {
    let verdict = validator.validate(head, body: body, at: port, server: context.localAddress)
    if case .needsBody = verdict {
      posted = (head, [])
      return
    }
    isAnswered = true
    posted = nil
    let reply = RedirectReply(context.channel)
    switch verdict {
    case .needsBody: break
    case .page(let page): reply.write(page)
    case .answer(let answer, let route):
      connection.protect()
      closeConnection(of: context, in: RedirectTimes.answer)
      _ = validator.dependencies.scheduler.after(RedirectTimes.lookup) {
        reply.writeUnlessDelivering(.busy)
      }
      deliver(answer, route, reply, client: context.remoteAddress, server: context.localAddress)
    }
  }

  private func deliver(
    _ answer: AuthorizationResponse, _ route: RedirectRoute, _ reply: RedirectReply,
    client: SocketAddress?, server: SocketAddress?
  ) {
    Task(executorPreference: validator.dependencies.executor) { [validator] in
      if let page = await validator.refusal(route, client: client, server: server) {
        reply.write(page)
        return
      }
      // In the meantime the `busy` page, which asks to reload, may have been sent. The reload then
      // sends the answer again.
      guard
        reply.beginDelivery(pendingAfter: RedirectTimes.outcome, validator.dependencies.scheduler)
      else { return }
      reply.write(await validator.deliver(answer, route))
    }
  }

  private func closeConnection(of context: ChannelHandlerContext, in time: Duration) {
    let channel = context.channel
    deadline?.cancel()
    deadline = validator.dependencies.scheduler.after(time) { channel.close(promise: nil) }
  }

  func channelActive(context: ChannelHandlerContext) {
    closeConnection(of: context, in: RedirectTimes.request)
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

/// The reply on a connection. Only the first page that is written is sent.
private final class RedirectReply: Sendable {
  private enum Phase {
    /// The browser's user is not known yet, so nothing about the sign-in may be sent.
    case undecided
    /// The flow has received the provider's answer and processes it.
    case delivering
    case written
  }

  private let channel: any Channel
  private let phase = Mutex(Phase.undecided)

  init(_ channel: any Channel) { self.channel = channel }

  /// Records that the flow receives the answer now. Only after this may a page describe the
  /// sign-in: before it, the browser may belong to another user.
  ///
  /// - Parameter delay: The delay after which the browser gets the page `RedirectPage.pending`.
  /// - Returns: False if a page has already been written; the flow must not receive the answer
  ///   then.
  func beginDelivery(pendingAfter delay: Duration, _ scheduler: any Scheduler) -> Bool {
    guard advance(to: .delivering) else { return false }
    _ = scheduler.after(delay) { self.write(.pending) }
    return true
  }

  func write(_ page: RedirectPage) {
    let isFirst = phase.withLock { exchange(&$0, with: .written) != .written }
    if isFirst { send(page) }
  }

  /// Writes a page unless the flow has already received the provider's answer.
  func writeUnlessDelivering(_ page: RedirectPage) {
    if advance(to: .written) { send(page) }
  }

  /// Advances from the phase `undecided`; returns false if another phase has been reached.
  private func advance(to next: Phase) -> Bool {
    phase.withLock { phase in
      guard phase == .undecided else { return false }
      phase = next
      return true
    }
  }

  private func send(_ page: RedirectPage) {
    channel.answer(
      page.status,
      [
        "content-type": "text/html; charset=utf-8", "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
        "x-content-type-options": "nosniff",
      ], ByteBuffer(string: page.html))
  }
}
