import JSONRPC
import Synchronization
import UsherAPI
import UsherClient
import UsherCore

/// The active verification, and the queue of the program's requests.
///
/// One task carries out the requests in order, and each verification has a task that follows it to
/// its end. Both publish events under one lock, so that all listeners get them in the same order.
final class VerificationService: Sendable {
  typealias Listener = AsyncStream<TCVerificationEvent>.Continuation

  /// A request of the program, and the listener that gets its events in addition to the delegate.
  struct Action: Sendable {
    var errand: Errand
    var place: Place
    var listener: Listener?
  }

  enum Errand: Sendable {
    case request(PhoneRequest)
    case enter(FlowInput)
    /// The provider or the daemon's socket has changed.
    case move
  }

  /// The daemon and its provider that a request goes to.
  struct Place: Sendable {
    var provider: ProviderName
    var client: UsherClient
  }

  struct Standing {
    var current: Current?
    /// The number of verifications so far, from which each gets its own number.
    var count = 0
    var listeners: [Listener] = []
    var expiresAt: Timestamp?
    var accessToken: Secret?
    var isClosed = false
  }

  struct Current {
    let number: Int
    /// The number that is verified; nil if another program, or this one before a restart, began the
    /// verification.
    let phone: PhoneRequest?
    let session: FlowSession
    var follower: Task<Void, Never>?
  }

  private let standing = Mutex(Standing())
  private let orders: AsyncStream<Action>.Continuation
  private let news: Listener

  /// - Parameter news: The stream that gets all events, for the delegate.
  init(news: Listener) {
    self.news = news
    let (orders, feed) = AsyncStream.makeStream(of: Action.self)
    self.orders = feed
    Task { for await order in orders { await carryOut(order) } }
  }

  func take(_ order: Action) { orders.yield(order) }

  /// Ends all tasks. The verification at the daemon is not cancelled.
  func close() {
    orders.finish()
    standing.withLock { $0.isClosed = true }
    leave()
    news.finish()
  }

  var expiresAt: Timestamp? { standing.withLock { $0.expiresAt } }

  var accessToken: Secret? { standing.withLock { $0.accessToken } }
}

// MARK: - Publishing events

extension VerificationService {
  /// Publishes an event of the active verification, or of none.
  func tell(_ event: TCVerificationEvent) {
    standing.withLock { tell(event, in: &$0) }
  }

  private func tell(_ event: TCVerificationEvent, in standing: inout Standing) {
    news.yield(event)
    standing.listeners.removeAll { listener in
      if case .terminated = listener.yield(event) { true } else { false }
    }
  }

  private func leave() {
    let follower = standing.withLock { standing in
      defer { standing.forget() }
      return standing.current?.follower
    }
    follower?.cancel()
  }

  private func listen(_ listener: Listener?) {
    guard let listener else { return }
    standing.withLock { $0.listeners.append(listener) }
  }
}

extension VerificationService.Standing {
  /// Stops the reports about the verification. The access token stays.
  fileprivate mutating func forget() {
    current = nil
    expiresAt = nil
    for listener in listeners { listener.finish() }
    listeners = []
  }
}

// MARK: - Carrying out requests

extension VerificationService {
  private func carryOut(_ order: Action) async {
    do {
      switch order.errand {
      case .request(let phone): try await request(phone, order)
      case .enter(let input): try await enter(input, order)
      case .move:
        leave()
        standing.withLock { $0.accessToken = nil }
      }
    } catch {
      tell(.failed(TCError(KitError(error))))
      standing.withLock { if $0.current == nil { $0.forget() } }
    }
  }

  private func request(_ phone: PhoneRequest, _ order: Action) async throws {
    let current = standing.withLock { $0.current }
    if let current, current.phone?.isSameNumber(as: phone) == true {
      listen(order.listener)
      try await answer(.resend, current.session)
      return
    }
    leave()
    listen(order.listener)
    // The result does not matter: if the flow cannot be cancelled, it expires.
    _ = try? await current?.session.cancel()
    standing.withLock { $0.accessToken = nil }
    let session = try await order.place.client.flow(
      provider: order.place.provider.rawValue, kind: Self.kind, params: phone.params)
    follow(session, phone, VerificationNews(), order.place.client)
  }

  private func enter(_ input: FlowInput, _ order: Action) async throws {
    listen(order.listener)
    if let current = standing.withLock({ $0.current }) {
      try await answer(input, current.session)
      return
    }
    let place = order.place
    let found = try await place.client.newestFlow(of: place.provider, kind: Self.kind) {
      $0.step?.kind == .enterCode
    }
    guard let found else { throw KitError.noCode }
    follow(found, nil, VerificationNews(takingUp: found.flow), place.client)
    try await answer(input, found)
  }

  /// Answers the step that asks for a code.
  ///
  /// If a code is being sent or checked already, or the flow has ended, nothing is sent: the task
  /// that follows the flow reports the outcome.
  ///
  /// - Throws: ``KitError`` if a code is submitted before one was sent.
  private func answer(_ input: FlowInput, _ session: FlowSession) async throws {
    let seen = try await session.refresh()
    guard seen.step?.kind == .enterCode else {
      let isTooEarly = seen.state == "creating" && input != .resend
      if isTooEarly && !seen.status.isFinished { throw KitError.noCode }
      return
    }
    let flow = try await session.answer(input, to: seen) { _ in true }
    // An unchanged problem does not raise the revision, so the follower does not report it.
    if flow.revision == seen.revision, let problem = flow.problem { throw KitError(problem) }
  }

  private static let kind = "verifyPhone"
}

extension KitError {
  fileprivate static var noCode: KitError {
    KitError(.nothingWaiting, "no verification is waiting for a code: request one first")
  }
}

// MARK: - Following

extension VerificationService {
  private func follow(
    _ session: FlowSession, _ phone: PhoneRequest?, _ news: VerificationNews, _ client: UsherClient
  ) {
    standing.withLock { standing in
      guard !standing.isClosed else { return }
      standing.count += 1
      let number = standing.count
      standing.expiresAt = session.flow.codeExpiry
      let follower = Task { await run(number, session, news, client) }
      standing.current = Current(
        number: number, phone: phone?.withoutApp, session: session, follower: follower)
    }
  }

  private func run(
    _ number: Int, _ session: FlowSession, _ told: VerificationNews, _ client: UsherClient
  ) async {
    var news = told
    var (flow, transitions) = (session.flow, [Transition]())
    do {
      while true {
        let events = news.take(flow, transitions)
        let token = flow.status == .succeeded ? await Self.token(of: flow, client) : nil
        guard tell(events, flow, token, number), !flow.status.isFinished else { return }
        (flow, transitions) = try await session.changes(after: news.revision, client)
      }
    } catch {
      standing.withLock { standing in
        guard standing.current?.number == number else { return }
        standing.current = nil
        standing.expiresAt = nil
        tell(.failed(TCError(KitError(error))), in: &standing)
        standing.forget()
      }
    }
  }

  /// - Returns: Whether the verification is still the active one.
  private func tell(
    _ events: [TCVerificationEvent], _ flow: Flow, _ token: Secret?, _ number: Int
  ) -> Bool {
    standing.withLock { standing in
      guard standing.current?.number == number else { return false }
      standing.expiresAt = flow.codeExpiry ?? (flow.isCodeHandedIn ? standing.expiresAt : nil)
      standing.accessToken = token
      for event in events { tell(event, in: &standing) }
      if flow.status.isFinished { standing.forget() }
      return true
    }
  }

  /// Returns the access token; nil if the daemon does not give it, which does not undo the success.
  private static func token(of flow: Flow, _ client: UsherClient) async -> Secret? {
    guard let account = flow.result?["account"]?.stringValue else { return nil }
    let call = TokenGet(account: AccountID(account))
    return try? await client.call(call).accessToken.secret
  }
}

extension Flow {
  fileprivate var codeExpiry: Timestamp? {
    guard case .enterCode(let step)? = step else { return nil }
    return step.expiresAt
  }

  fileprivate var isCodeHandedIn: Bool {
    status == .active && TCVerificationState(word: state) == .otpReceived
  }
}

extension FlowSession {
  /// Waits until the flow is newer than a revision. Returns the flow and, if it is more than one
  /// revision newer, the transitions since.
  fileprivate func changes(
    after revision: Int, _ client: UsherClient
  ) async throws -> (Flow, [Transition]) {
    let flow = try await change(after: revision)
    guard flow.revision > revision + 1 else { return (flow, []) }
    let told = try await client.call(FlowWait(flow: id, revision: revision, timeoutMs: 0))
    return (told.flow, told.transitions)
  }
}
