import FoundationEssentials
import Glibc
public import JSONRPC
import Synchronization
public import UsherAPI
public import UsherCore

/// A client of usherd.
///
/// The client connects at the first call, uses one connection for all calls, and reconnects after
/// that connection is lost. If the daemon restarts, the client waits for it (``patience``) and
/// sends the calls again: any call that the old daemon did not begin, and otherwise only calls that
/// are safe to repeat. Calls may be made concurrently from any task; calls beyond 64 in flight are
/// queued. The connection is closed when the client and its event streams are deallocated.
///
/// Every call throws `UsherError` if the daemon refuses it (compare its `reason`; `detail.next`
/// names the flow that resolves it), ``ConnectionError`` if there is no answer, and
/// `CancellationError` if its task is cancelled; the daemon is then told to cancel the call.
public final class UsherClient: Sendable {
  /// The maximum length of a reply line, in bytes: 8 MiB.
  public static let maxReplyBytes = 8 << 20

  /// The default deadline of a call. The time for which a call asks the daemon to wait is added.
  public static let defaultDeadline = Duration.seconds(30)

  /// The total time that a call pauses between attempts while the daemon cannot be reached.
  ///
  /// Time during which the socket accepts connections does not count: a socket of systemd does so
  /// while the daemon restarts. The pauses are part of the call's deadline. If this client has
  /// never been connected, a missing socket or one without a listener fails the call at once.
  public static let patience = Duration.seconds(10)

  public let socketPath: String
  private let dialer: Dialer

  /// Creates a client without connecting. If the daemon is down, the first call throws.
  ///
  /// - Parameters:
  ///   - socketPath: The daemon's socket. Nil selects the daemon that serves this user:
  ///     `$USHER_SOCKET`, the system socket under `/run/usherd`, or the user's own under
  ///     `$XDG_RUNTIME_DIR/usherd`.
  ///   - name: The name of this program in the daemon's journal.
  ///   - version: The version of this program.
  public convenience init(
    socketPath: String? = nil, name: String = "swift", version: String = "1"
  ) {
    self.init(
      socketPath: socketPath ?? SocketPath.standard(.app), name: name, version: version,
      maxReplyBytes: Self.maxReplyBytes)
  }

  package init(socketPath: String, name: String, version: String, maxReplyBytes: Int) {
    self.socketPath = socketPath
    let hello = RPCHello(protocol: [1], client: .init(name: name, version: version))
    dialer = Dialer(
      .init(socketPath: socketPath, hello: hello, maxReplyBytes: maxReplyBytes))
  }

  /// Closes the client permanently: calls in progress and later calls throw ``ConnectionError`` of
  /// kind ``ConnectionError/Kind/closed``.
  public func close() async { await dialer.close() }
}

// MARK: - Calling

extension UsherClient {
  /// Makes a call and waits for its reply.
  ///
  /// If the daemon did not begin the call, because it was stopping or not running, the call is sent
  /// again. If the connection was lost after the call was sent, or the daemon stopped while it
  /// handled the call, the call is sent again once if that is safe: never `flow.submit`, and
  /// `flow.start` only with a `requestId`.
  ///
  /// - Parameters:
  ///   - method: The call, with its parameters.
  ///   - deadline: The time for all attempts. Nil means ``defaultDeadline`` plus the time for which
  ///     the call asks the daemon to wait.
  /// - Throws: `UsherError` from the daemon, with reason `deadlineExceeded` if the time is over, or
  ///   `messageTooLarge` if the call is longer than the daemon accepts; ``ConnectionError``;
  ///   `CancellationError`.
  public func call<M: Method>(_ method: M, deadline: Duration? = nil) async throws -> M.Reply {
    try await callWithJSON(method, deadline: deadline).reply
  }

  /// Makes a call by name, for methods that have no Swift type.
  ///
  /// The call repeats and fails as ``call(_:deadline:)`` does. A method that this client does not
  /// know is sent again only if the daemon did not begin it.
  public func call(
    _ method: String, params: JSONValue = [:], deadline: Duration? = nil
  ) async throws -> JSONValue {
    let bytes = try await callWithRetries(method, params, params.encoded(), deadline)
    guard let value = try? JSONValue(parsing: bytes, limits: JSONLimits(nesting: 128)) else {
      throw ConnectionError(.garbled, socketPath: socketPath)
    }
    return value
  }

  /// Makes a call that is safe to repeat, and repeats it whenever the daemon restarts.
  func call<M: Method>(_ method: M, patience: Duration) async throws -> M.Reply {
    try await callWithJSON(method, retriesAfterLoss: .max, patience: patience).reply
  }

  /// Makes a call and returns its reply twice: decoded, and as the JSON that the daemon sent.
  package func callWithJSON<M: Method>(
    _ method: M, deadline: Duration? = nil, retriesAfterLoss: Int = 1,
    patience: Duration = UsherClient.patience, onDoubt: () -> Void = {}
  ) async throws -> (reply: M.Reply, json: [UInt8]) {
    let params = try ReplyCoding.encode(method)
    let json = try await callWithRetries(
      M.name, try JSONValue(parsing: params), params, deadline,
      retriesAfterLoss: retriesAfterLoss, patience: patience, onDoubt: onDoubt)
    guard let reply = try? ReplyCoding.decode(M.Reply.self, from: json) else {
      throw ConnectionError(.garbled, socketPath: socketPath)
    }
    return (reply, json)
  }

  private func callWithRetries(
    _ method: String, _ params: JSONValue, _ bytes: [UInt8], _ deadline: Duration?,
    retriesAfterLoss: Int = 1, patience: Duration = UsherClient.patience, onDoubt: () -> Void = {}
  ) async throws -> [UInt8] {
    guard bytes.count + method.utf8.count < JSONLimits().lineBytes - 128 else {
      throw UsherError(
        .messageTooLarge,
        "the parameters of \(method) have \(bytes.count) bytes, more than usherd accepts")
    }
    let limit = deadline ?? Self.defaultDeadline + params.wait
    let policy = RetryPolicy(
      isSafe: Methods.traits(of: method).repetition.allows(params),
      retriesAfterLoss: retriesAfterLoss, patience: patience)
    return try await retry(policy, within: limit, onDoubt: onDoubt) { left in
      try Task.checkCancellation()
      let connection = try await dialer.connection()
      return try await connection.call(method, bytes, deadline: left, onReply: nil)
    }
  }

  /// Repeats a call until an attempt succeeds, or `policy` or the time limit allows no further
  /// attempt.
  ///
  /// - Parameter onDoubt: Called before each attempt that follows one which the daemon may have
  ///   begun.
  private func retry<Reply>(
    _ policy: RetryPolicy, within limit: Duration, onDoubt: () -> Void = {},
    _ attempt: (Duration) async throws -> Reply
  ) async throws -> Reply {
    var policy = policy
    let end = ContinuousClock.now + limit
    while true {
      do {
        return try await attempt(max(.zero, end - ContinuousClock.now))
      } catch {
        let pause = policy.pause(after: error, knowsDaemon: await dialer.hasConnected)
        guard let pause, ContinuousClock.now + pause < end else {
          throw error is CallNotSent ? ConnectionError(.lost, socketPath: socketPath) : error
        }
        if policy.mayHaveBegun { onDoubt() }
        try await Task.sleep(for: pause)
      }
    }
  }
}

extension JSONValue {
  /// The time for which these parameters (`timeoutMs` or `waitMs`) ask the daemon to hold back its
  /// reply, at most a minute.
  fileprivate var wait: Duration {
    let milliseconds = self["timeoutMs"]?.integerValue ?? self["waitMs"]?.integerValue ?? 0
    return .milliseconds(min(max(milliseconds, 0), 60_000))
  }
}

// MARK: - Tokens, flows and events

extension UsherClient {
  /// Returns a token of the caller's only account at a provider, valid for at least a minute.
  ///
  /// - Throws: `UsherError` with reason `interactionRequired` or `reauthenticationRequired` if a
  ///   person has to sign in; `detail.next` names the flow.
  public func token(provider: String) async throws -> TokenGet.Reply {
    try await call(TokenGet(provider: ProviderName(provider)))
  }

  /// Begins a flow (`flow.start`).
  ///
  /// - Parameters:
  ///   - provider: The name of a configured provider.
  ///   - kind: The flow's kind, such as `authorize`.
  ///   - params: The parameters of the flow's kind.
  ///   - requestId: An id that makes the start idempotent: only the first start with an id begins
  ///     a flow, later ones throw `UsherError` with reason `requestIDReused`. Nil uses a random
  ///     id, so that the start can be sent again after a lost connection.
  public func flow(
    provider: String, kind: String, params: JSONValue = [:], requestId: String? = nil
  ) async throws -> FlowSession {
    try await flow(
      provider: provider, kind: kind, params: params, requestId: requestId, onDoubt: {})
  }

  /// Begins a flow (`flow.start`).
  ///
  /// - Parameter onDoubt: Called if the start is sent again although the daemon may have begun the
  ///   flow. An error with reason `requestIDReused` after that may be about this call's own flow.
  package func flow(
    provider: String, kind: String, params: JSONValue, requestId: String?, onDoubt: () -> Void
  ) async throws -> FlowSession {
    let start = FlowStart(
      provider: ProviderName(provider), kind: kind, params: params,
      requestId: requestId ?? SystemEntropy().bytes(16).hexadecimal)
    do {
      return FlowSession(self, try await callWithJSON(start, onDoubt: onDoubt).reply.flow)
    } catch let error as UsherError where error.reason == .requestIDReused && requestId == nil {
      // The first of two attempts has started the flow with this random id, but its reply was lost.
      guard let flow = error.detail.flow else { throw error }
      return try await session(of: flow)
    }
  }

  /// Returns the session of an existing flow, which another process of this user may have begun.
  ///
  /// - Throws: `UsherError` with reason `notFound` if the caller has no such flow.
  public func session(of flow: FlowID) async throws -> FlowSession {
    FlowSession(self, try await call(FlowGet(flow: flow)).flow)
  }

  /// Returns a stream of the events that the caller may see, from now on or since a cursor.
  ///
  /// The stream subscribes when it is created and unsubscribes when its reader stops. It buffers
  /// 256 events. It ends with ``EventsEnded`` if the buffer overflows or the connection is lost;
  /// pass its `cursor` as `since` to continue. With `since`, the events after that cursor that the
  /// daemon still has come first.
  ///
  /// A restart of the daemon ends the stream, and the new daemon has no earlier events: a stream
  /// since an old cursor ends at once with an overflow that has the new daemon's cursor. After a
  /// restart, ask for the current state of an object before following its events; ``FlowSession``
  /// does that for a flow.
  public func events(
    _ topics: [EventTopic], since: Int? = nil
  ) -> AsyncThrowingStream<EventNotification, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingOldest(256)) { feed in
      let subscribing = Task { [self] in
        do {
          let params = try ReplyCoding.encode(EventsSubscribe(topics: topics, since: since))
          let policy = RetryPolicy(isSafe: true, patience: Self.patience)
          try await retry(policy, within: Self.defaultDeadline) { left in
            let connection = try await dialer.connection()
            try await connection.subscribe(params, deadline: left, feed: feed, dialer: dialer)
          }
        } catch {
          feed.finish(throwing: error)
        }
      }
      feed.onTermination = { _ in subscribing.cancel() }
    }
  }
}

extension SocketPath {
  /// Returns the default path of the socket, for the environment and the user of this process.
  package static func standard(_ access: Access) -> String {
    standard(access, environment: ProcessInfo.processInfo.environment, userID: geteuid()) { path in
      Glibc.access(path, F_OK) == 0
    }
  }
}
