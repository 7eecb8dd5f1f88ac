import FoundationEssentials
import Glibc
public import JSONRPC
import Synchronization
public import UsherAPI
public import UsherCore

/// A program's way to usherd.
///
/// It connects at the first call, keeps one connection for all calls, and connects again when that
/// one was lost. A daemon that restarts is waited for (``patience``), and calls are made again there:
/// whatever the call where the old one did not begin it, else only one that may be made twice. Calls
/// may be made from any task, many at a time; beyond 64 in flight they wait for
/// their turn. It holds no more than the connection and ends it when it is let go.
///
/// Every call throws `UsherError` for what the daemon refuses, with `reason` to compare and
/// `detail.next` for the flow that mends it; ``ConnectionError`` when there is no answer; and
/// `CancellationError` when its task is cancelled, whereupon the daemon is told to give the call up.
public final class UsherClient: Sendable {
  /// The longest reply line that is accepted, in bytes.
  public static let maxReplyBytes = 8 << 20

  /// The time a call has unless it says otherwise; a call that asks the daemon to wait has that
  /// time on top.
  public static let defaultDeadline = Duration.seconds(30)

  /// How long a daemon that this client was connected to may be away, not counting the time for which
  /// its socket takes connections: systemd's does while the daemon restarts. It is part of a call's
  /// deadline. A daemon that was never there is not waited for.
  public static let patience = Duration.seconds(10)

  public let socketPath: String
  private let dialer: Dialer

  /// Nothing is opened yet: a daemon that is down is found out by the first call.
  ///
  /// - Parameters:
  ///   - socketPath: Nil finds the daemon that serves this user: `$USHER_SOCKET`, the system's
  ///     under `/run/usherd`, or the user's own under `$XDG_RUNTIME_DIR/usherd`.
  ///   - name: What the daemon's journal calls this program.
  ///   - version: The program's own.
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

  /// Ends the connection for good: calls in flight and later ones throw ``ConnectionError``.
  public func close() async { await dialer.close() }
}

// MARK: - Calling

extension UsherClient {
  /// Makes a call of the contract and waits for its reply.
  ///
  /// Where the daemon did not begin it, because it stopped or was gone, it is made again. Where the
  /// connection was lost after it was sent, or the daemon stopped over it, it is made once more if
  /// that is safe: never `flow.submit`, `flow.start` only with a `requestId`. A deadline of nil is ``defaultDeadline``, plus the wait the call asks
  /// for.
  ///
  /// - Throws: Also `UsherError` with reason `deadlineExceeded` when the time is over.
  public func call<M: Method>(_ method: M, deadline: Duration? = nil) async throws -> M.Reply {
    try await answer(to: method, deadline: deadline).reply
  }

  /// Makes a call by name, for methods that have no type here.
  public func call(
    _ method: String, params: JSONValue = [:], deadline: Duration? = nil
  ) async throws -> JSONValue {
    let bytes = try await exchange(method, params, params.encoded(), deadline)
    guard let value = try? JSONValue(parsing: bytes, limits: JSONLimits(nesting: 128)) else {
      throw ConnectionError(.garbled, socketPath: socketPath)
    }
    return value
  }

  /// The reply, and its JSON as the daemon wrote it.
  package func answer<M: Method>(
    to method: M, deadline: Duration? = nil
  ) async throws -> (reply: M.Reply, json: [UInt8]) {
    let params = try ReplyCoding.encode(method)
    let json = try await exchange(M.name, try JSONValue(parsing: params), params, deadline)
    return (try decoded(json), json)
  }

  /// Waits for a flow, however often the daemon restarts meanwhile.
  func call(_ wait: FlowWait, patience: Duration) async throws -> FlowWait.Reply {
    let params = try ReplyCoding.encode(wait)
    return try decoded(
      try await exchange(
        FlowWait.name, try JSONValue(parsing: params), params, nil, losses: .max,
        patience: patience))
  }

  private func decoded<Reply: Decodable>(_ json: [UInt8]) throws -> Reply {
    guard let reply = try? ReplyCoding.decode(Reply.self, from: json) else {
      throw ConnectionError(.garbled, socketPath: socketPath)
    }
    return reply
  }

  private func exchange(
    _ method: String, _ params: JSONValue, _ bytes: [UInt8], _ deadline: Duration?,
    losses: Int = 1, patience: Duration = UsherClient.patience
  ) async throws -> [UInt8] {
    guard bytes.count + method.utf8.count < JSONLimits().lineBytes - 128 else {
      throw UsherError(.messageTooLarge, "the call is larger than usherd accepts")
    }
    let limit = deadline ?? Self.defaultDeadline + params.wait
    let persistence = Persistence(
      isSafe: Methods.traits(of: method).repetition.allows(params), losses: losses,
      patience: patience)
    return try await persist(persistence, within: limit) { left in
      try await self.attempt(method, bytes, left)
    }
  }

  /// Makes attempts until one succeeds, or no other is worth it.
  private func persist<Reply>(
    _ persistence: Persistence, within limit: Duration,
    _ attempt: (Duration) async throws -> Reply
  ) async throws -> Reply {
    var persistence = persistence
    let end = ContinuousClock.now + limit
    while true {
      do {
        return try await attempt(max(.zero, end - ContinuousClock.now))
      } catch {
        let pause = persistence.pause(after: error, knowsDaemon: await dialer.hasConnected)
        guard let pause, ContinuousClock.now + pause < end else {
          throw error is Unheard ? ConnectionError(.lost, socketPath: socketPath) : error
        }
        try await Task.sleep(for: pause)
      }
    }
  }

  private func attempt(
    _ method: String, _ params: [UInt8], _ deadline: Duration
  ) async throws -> [UInt8] {
    try Task.checkCancellation()
    let connection = try await dialer.connection()
    return try await connection.call(method, params, deadline: deadline, onReply: nil)
  }
}

extension JSONValue {
  /// How long a call asks the daemon to wait (RPC.md § Methods: at most a minute).
  fileprivate var wait: Duration {
    let milliseconds = self["timeoutMs"]?.integerValue ?? self["waitMs"]?.integerValue ?? 0
    return .milliseconds(min(max(milliseconds, 0), 60_000))
  }
}

// MARK: - What programs ask for most

extension UsherClient {
  /// An access token of the caller's one account at a provider, valid for a minute at least.
  ///
  /// - Throws: `UsherError` with reason `interactionRequired` or `reauthenticationRequired` when a
  ///   person has to sign in: `detail.next` says by which flow.
  public func token(provider: String) async throws -> TokenGet.Reply {
    try await call(TokenGet(provider: ProviderName(provider)))
  }

  /// Begins a flow.
  ///
  /// A request id makes beginning safe to repeat: of several starts with the same one only the first
  /// begins a flow. Nil takes a random one, so that a lost connection is no harm.
  public func flow(
    provider: String, kind: String, params: JSONValue = [:], requestId: String? = nil
  ) async throws -> FlowSession {
    let start = FlowStart(
      provider: ProviderName(provider), kind: kind, params: params,
      requestId: requestId ?? Self.freshRequestID())
    do {
      return FlowSession(self, try await call(start).flow)
    } catch let error as UsherError where error.reason == .requestIDReused && requestId == nil {
      // The random id was seen before: by the first of two attempts, whose reply was lost.
      guard let flow = error.detail.flow else { throw error }
      return try await session(of: flow)
    }
  }

  /// Goes on with a flow that was begun before, maybe by another process of this user.
  public func session(of flow: FlowID) async throws -> FlowSession {
    FlowSession(self, try await call(FlowGet(flow: flow)).flow)
  }

  private static func freshRequestID() -> String {
    SystemEntropy().bytes(16).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }

  /// What happens from now on, or from a cursor on, to what the caller may see.
  ///
  /// The stream subscribes when it is made and unsubscribes when its reader stops. It buffers 256
  /// events and ends with ``EventsEnded`` when more happened than was read or the connection was
  /// lost; `cursor` is then where to go on: what is remembered since a cursor comes first.
  ///
  /// A daemon that restarts ends it, and the next one remembers nothing of before: there a stream
  /// since an old cursor ends at once by an overflow, which names the new daemon's. Whoever follows
  /// something asks how it stands and goes on from there; ``FlowSession`` does so for a flow.
  public func events(
    _ topics: [EventTopic], since: Int? = nil
  ) -> AsyncThrowingStream<EventNotification, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingOldest(256)) { feed in
      let subscribing = Task { [self] in
        do {
          let params = try ReplyCoding.encode(EventsSubscribe(topics: topics, since: since))
          let persistence = Persistence(isSafe: true, patience: Self.patience)
          try await persist(persistence, within: Self.defaultDeadline) { left in
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
  /// By this process's environment and user.
  package static func standard(_ access: Access) -> String {
    standard(access, environment: ProcessInfo.processInfo.environment, userID: geteuid()) { path in
      Glibc.access(path, F_OK) == 0
    }
  }
}
