import Synchronization
import UsherClient

/// Runs the active verification, and the queue of the program's requests.
///
/// One task performs the requests in order, and each verification has a task that follows its flow
/// to the end. Both publish events under one lock, so that all listeners get them in the same
/// order.
final class VerificationService: Sendable {
  typealias Listener = AsyncStream<TCVerificationEvent>.Continuation

  /// A request of the program, and the listener, if any, that gets its events in addition to the
  /// delegate.
  struct Command: Sendable {
    var operation: Operation
    var provider: ProviderClient
    var listener: Listener?
  }

  enum Operation: Sendable {
    case request(PhoneRequest)
    case enter(FlowInput)
    /// The provider or the daemon's socket has changed.
    case providerChanged
  }

  struct State {
    var current: Current?
    /// The number of verifications so far. It distinguishes the active one from earlier ones.
    var count = 0
    var listeners: [Listener] = []
    var expiresAt: Timestamp?
    var accessToken: Secret?
    var isClosed = false
  }

  struct Current {
    let number: Int
    let session: FlowSession
    var follower: Task<Void, Never>?

    func isAbout(_ phone: PhoneRequest) -> Bool {
      PhoneNumberKey(session.flow)?.isKey(of: phone) ?? false
    }
  }

  private let state = Mutex(State())
  private let commands: AsyncStream<Command>.Continuation
  private let delegateFeed: Listener
  private let clock: any Clock

  /// Creates the service.
  ///
  /// - Parameters:
  ///   - delegateFeed: The stream of all events, from which the delegate is called.
  ///   - clock: The clock by which a code expires.
  init(delegateFeed: Listener, clock: any Clock) {
    self.delegateFeed = delegateFeed
    self.clock = clock
    let (commands, feed) = AsyncStream.makeStream(of: Command.self)
    self.commands = feed
    Task { for await command in commands { await execute(command) } }
  }

  func enqueue(_ command: Command) { commands.yield(command) }

  /// Ends all tasks of this object. The verification at the daemon is not cancelled, and queued
  /// requests are dropped.
  func close() {
    commands.finish()
    state.withLock { $0.isClosed = true }
    stopFollowing()
    delegateFeed.finish()
  }

  var expiresAt: Timestamp? { state.withLock { $0.expiresAt } }

  var accessToken: Secret? { state.withLock { $0.accessToken } }
}

// MARK: - Publishing events

extension VerificationService {
  /// Passes an event that belongs to no verification to the delegate only.
  func notifyDelegate(_ event: TCVerificationEvent) { delegateFeed.yield(event) }

  private func publish(_ event: TCVerificationEvent, in state: inout State) {
    delegateFeed.yield(event)
    state.listeners.removeAll { listener in
      if case .terminated = listener.yield(event) { true } else { false }
    }
  }

  /// Stops following the active verification.
  ///
  /// - Returns: The verification that was active; nil if there was none.
  @discardableResult
  private func stopFollowing() -> Current? {
    let current = state.withLock { state in
      defer { state.endReports() }
      return state.current
    }
    current?.follower?.cancel()
    return current
  }
}

extension VerificationService.State {
  fileprivate mutating func add(_ listener: VerificationService.Listener?) {
    guard let listener else { return }
    if isClosed { listener.finish() } else { listeners.append(listener) }
  }

  /// Ends the reports about the verification. The access token stays available.
  fileprivate mutating func endReports() {
    current = nil
    expiresAt = nil
    for listener in listeners { listener.finish() }
    listeners = []
  }
}

// MARK: - Carrying out requests

extension VerificationService {
  private func execute(_ command: Command) async {
    guard state.withLock({ !$0.isClosed }) else {
      command.listener?.finish()
      return
    }
    do {
      switch command.operation {
      case .request(let phone): try await request(phone, command)
      case .enter(let input): try await enter(input, command)
      case .providerChanged:
        stopFollowing()
        state.withLock { $0.accessToken = nil }
      }
    } catch {
      state.withLock { state in
        publish(.failed(TCError(KitError(error))), in: &state)
        if state.current == nil { state.endReports() }
      }
    }
  }

  private func request(_ phone: PhoneRequest, _ command: Command) async throws {
    // The check and the addition need one lock: otherwise a verification that ends in between would
    // never finish the listener.
    let same = state.withLock { state -> Current? in
      guard let current = state.current, current.isAbout(phone) else { return nil }
      state.add(command.listener)
      return current
    }
    if let same { return try await answer(.resend, same.session) }
    let previous = stopFollowing()
    state.withLock { $0.add(command.listener) }
    // The result does not matter: a flow that cannot be cancelled expires by itself.
    _ = try? await previous?.session.cancel()
    state.withLock { $0.accessToken = nil }
    let (provider, client) = (command.provider, command.provider.client)
    let waiting = try await provider.newestFlow(Self.kind) { flow in
      // Another program's flow is listed without its step.
      flow.step != nil && PhoneNumberKey(flow)?.isKey(of: phone) == true
    }
    guard let waiting else {
      let session = try await provider.start(Self.kind, phone.params)
      return startFollowing(session, VerificationEventMapper(), client)
    }
    // The program was restarted, or did not wait for the end of an earlier verification. Another
    // SMS is sent only if the code of the previous one has expired.
    guard let expiry = waiting.flow.codeExpiry, expiry <= clock.now() else {
      return startFollowing(waiting, VerificationEventMapper(takingUp: waiting.flow), client)
    }
    startFollowing(waiting, VerificationEventMapper(resuming: waiting.flow), client)
    try await answer(.resend, waiting)
  }

  private func enter(_ input: FlowInput, _ command: Command) async throws {
    state.withLock { $0.add(command.listener) }
    if let current = state.withLock({ $0.current }) {
      return try await answer(input, current.session)
    }
    let provider = command.provider
    let found = try await provider.newestFlow(Self.kind) { $0.step?.kind == .enterCode }
    guard let found else { throw KitError.noCode }
    startFollowing(found, VerificationEventMapper(resuming: found.flow), provider.client)
    try await answer(input, found)
  }

  /// Submits an answer to the flow's step that asks for a code.
  ///
  /// If a code is being sent or checked already, or the flow has ended, nothing is submitted: the
  /// task that follows the flow reports the outcome.
  ///
  /// - Throws: ``KitError`` if a code is submitted before Truecaller has sent one.
  private func answer(_ input: FlowInput, _ session: FlowSession) async throws {
    let seen = try await session.refresh()
    guard seen.step?.kind == .enterCode else {
      let isTooEarly = seen.state == "creating" && input != .resend
      if isTooEarly && !seen.status.isFinished { throw KitError.noCode }
      return
    }
    let flow = try await session.answer(input, to: seen) { _ in true }
    // If the problem is the same as before, the revision does not change, so the task that follows
    // the flow would not report the problem.
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
  private func startFollowing(
    _ session: FlowSession, _ mapper: VerificationEventMapper, _ client: UsherClient
  ) {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.count += 1
      let number = state.count
      state.expiresAt = session.flow.codeExpiry
      let follower = Task { await followToEnd(number, session, mapper, client) }
      state.current = Current(number: number, session: session, follower: follower)
    }
  }

  private func followToEnd(
    _ number: Int, _ session: FlowSession, _ initial: VerificationEventMapper, _ client: UsherClient
  ) async {
    var mapper = initial
    var token: Secret?
    var (flow, transitions) = (session.flow, [Transition]())
    do {
      while true {
        let events = mapper.events(for: flow, transitions)
        // The token is available before the state is reported.
        if token == nil, flow.isVerified { token = await Self.token(of: flow, client) }
        guard publish(events, flow, token, number), !flow.status.isFinished else { return }
        (flow, transitions) = try await session.changes(after: mapper.revision, client)
      }
    } catch {
      state.withLock { state in
        guard state.current?.number == number else { return }
        publish(.failed(TCError(KitError(error))), in: &state)
        state.endReports()
      }
    }
  }

  /// Publishes the events of a verification, unless it is no longer the active one.
  ///
  /// - Returns: Whether the verification is still the active one.
  private func publish(
    _ events: [TCVerificationEvent], _ flow: Flow, _ token: Secret?, _ number: Int
  ) -> Bool {
    state.withLock { state in
      guard state.current?.number == number else { return false }
      state.expiresAt = flow.codeExpiry ?? (flow.isCodeSubmitted ? state.expiresAt : nil)
      if let token { state.accessToken = token }
      for event in events { publish(event, in: &state) }
      if flow.status.isFinished { state.endReports() }
      return true
    }
  }

  /// Returns the access token of the flow's account; nil if the daemon does not give it to the
  /// program, which does not undo the success.
  private static func token(of flow: Flow, _ client: UsherClient) async -> Secret? {
    guard let account = await account(of: flow, client) else { return nil }
    return try? await client.call(TokenGet(account: account)).accessToken?.secret
  }

  /// Returns the account of the verified number, which exists before the flow has succeeded and
  /// also if it fails.
  private static func account(of flow: Flow, _ client: UsherClient) async -> AccountID? {
    if let account = flow.result?["account"]?.stringValue { return AccountID(account) }
    guard let key = PhoneNumberKey(flow) else { return nil }
    let accounts = try? await client.call(AccountList(provider: flow.provider)).accounts
    return accounts?.first { key.isKey(of: $0) }?.id
  }
}

extension Flow {
  /// The time to which a code is accepted: the flow ends even if the code would be valid longer.
  fileprivate var codeExpiry: Timestamp? {
    guard case .enterCode(let step)? = step else { return nil }
    return min(step.expiresAt, expiresAt)
  }

  fileprivate var isCodeSubmitted: Bool {
    status == .active && ["verifying", "otpReceived"].contains(state)
  }

  /// Whether the number is verified, so that the account exists with its access token.
  fileprivate var isVerified: Bool {
    switch TCVerificationState(flowState: state) {
    case .verificationComplete, .verifiedBefore: true
    case .otpInitiated, .otpReceived, nil: false
    }
  }
}

extension FlowSession {
  /// Waits until the flow is newer than a revision. Returns the flow, and the transitions since
  /// then if there are several.
  fileprivate func changes(
    after revision: Int, _ client: UsherClient
  ) async throws -> (Flow, [Transition]) {
    let flow = try await change(after: revision)
    guard flow.revision > revision + 1 else { return (flow, []) }
    let reply = try await client.call(FlowWait(flow: id, revision: revision, timeoutMs: 0))
    return (reply.flow, reply.transitions)
  }
}
