import JSONRPC
import NIOCore
import Synchronization
import UsherAPI
import UsherCore

/// One connection to the daemon. It has many concurrent calls, which are distinguished by their
/// ids.
///
/// A connection lasts until either side closes it and is never reopened: ``Dialer`` opens a new
/// one.
final class Connection: Sendable {
  /// Receives the JSON of the result, or the error. It is called exactly once.
  typealias Finish = @Sendable (Result<[UInt8], any Error>) -> Void

  private struct State {
    var calls = CallTable<Finish>(limit: Connection.callLimit)
    /// The event streams that the connection feeds, by the name of the subscription.
    var streams: [String: EventStream] = [:]
  }

  /// The maximum number of calls in flight: the daemon's default limit for a connection.
  static let callLimit = 64

  let socketPath: String
  private let channel: any Channel
  private let writer: NIOLoopBound<LineWriter>
  private let state = Mutex(State())

  /// Creates the connection for a channel. It must be called on the channel's event loop.
  init(_ channel: any Channel, socketPath: String) {
    self.channel = channel
    self.socketPath = socketPath
    writer = NIOLoopBound(LineWriter(channel), eventLoop: channel.eventLoop)
  }

  var isOpen: Bool { state.withLock { $0.calls.isOpen } }

  /// Ends the connection. Calls without a reply throw `problem`. If that is `lost`, calls that were
  /// not sent yet throw ``CallNotSent`` instead.
  func close(_ problem: ConnectionError.Kind = .closed) {
    let error = ConnectionError(problem, socketPath: socketPath)
    end(error, unsent: problem == .lost ? CallNotSent() : error)
  }

  func end(_ error: any Error) { end(error, unsent: error) }

  private func end(_ error: any Error, unsent: any Error) {
    let (waiting, streams) = state.withLock { state in
      defer { state.streams = [:] }
      return (state.calls.end(error, unsent: unsent), state.streams.values)
    }
    for (finish, error) in waiting { finish(.failure(error)) }
    for stream in streams { stream.feed.finish(throwing: stream.ending(.disconnected)) }
    channel.close(promise: nil)
  }
}

// MARK: - Calling

extension Connection {
  /// Makes a call and waits for its reply.
  ///
  /// - Parameters:
  ///   - deadline: The time after which the call fails and, if it was sent, is cancelled at the
  ///     daemon.
  ///   - onReply: Called with the result on the event loop, before the next line is handled.
  /// - Throws: `UsherError` from the daemon, or with reason `deadlineExceeded`; `ConnectionError`;
  ///   ``CallNotSent``; `CancellationError` if the task is cancelled, which cancels the call too.
  func call(
    _ method: String, _ params: [UInt8], deadline: Duration, onReply: (@Sendable ([UInt8]) -> Void)?
  ) async throws -> [UInt8] {
    let id = state.withLock { $0.calls.reserve() }
    let timer = channel.eventLoop.scheduleTask(in: TimeAmount(deadline)) {
      self.giveUp(
        id,
        UsherError(.deadlineExceeded, "usherd did not answer \(method) before the call's deadline"))
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        begin(id, method, params) { result in
          if case .success(let reply) = result { onReply?(reply) }
          continuation.resume(with: result)
        }
      }
    } onCancel: {
      giveUp(id, CancellationError())
    }
  }

  /// Makes a call and returns at once; `finish` receives the result.
  func call(_ method: String, _ params: [UInt8], finish: @escaping Finish) {
    begin(state.withLock { $0.calls.reserve() }, method, params, finish: finish)
  }

  private static func notification(_ method: String, _ params: [UInt8]) -> [UInt8] {
    var line: [UInt8] = []
    line.appendNotification(method: method, params: params)
    return line
  }

  private func begin(
    _ id: RequestID, _ method: String, _ params: [UInt8], finish: @escaping Finish
  ) {
    var line: [UInt8] = []
    line.appendRequest(method: method, params: params, id: id)
    let call = line
    let refused: (finish: Finish, error: any Error)? = state.withLock { state in
      switch state.calls.begin(id, line: call, waiter: finish) {
      case .send: send(call, of: id)
      case .wait: break
      case .refuse(let finish, let error): return (finish, error)
      }
      return nil
    }
    if let refused { refused.finish(.failure(refused.error)) }
  }

  private func giveUp(_ id: RequestID, _ error: any Error) {
    let finish: Finish? = state.withLock { state in
      switch state.calls.giveUp(id, error) {
      case .nothing: return nil
      case .resume(let finish, let line):
        if let line { send(line.bytes, of: line.id) }
        return finish
      case .resumeAndCancel(let finish):
        send(Self.notification(RPCCancel.name, Array(#"{"id":\#(id)}"#.utf8)))
        return finish
      }
    }
    finish?(.failure(error))
  }

  /// Queues a line on the event loop and returns at once.
  ///
  /// A caller that decides under the lock of `state` to send a line also calls this under that
  /// lock. Lines then go out in the order of the decisions, and a cancel notification never
  /// overtakes its call. The line is written only after this returns, even on the event loop,
  /// because a failed write acquires the same lock.
  ///
  /// - Parameter id: The id of the call; nil if the line is not a call.
  private func send(_ line: [UInt8], of id: RequestID? = nil) {
    var line = line
    line.append(UInt8(ascii: "\n"))
    let bytes = line
    channel.eventLoop.execute { [self] in
      if let id, !state.withLock({ $0.calls.markSent(id) }) { return }
      switch writer.value.write(bytes) {
      case .written: break
      case .refused: stopSending(failing: id)
      case .queued(let sent): sent.whenFailure { _ in self.stopSending(failing: id) }
      }
    }
  }

  /// Stops sending, because the daemon is stopping or has ended, and fails the calls that were not
  /// sent.
  ///
  /// Calls that were sent still wait for their replies.
  private func stopSending(failing id: RequestID? = nil) {
    let notSent = CallNotSent()
    let waiting = state.withLock { $0.calls.stopSending(failing: id, notSent) }
    for finish in waiting { finish(.failure(notSent)) }
  }
}

/// The error that the daemon has not begun a call, because its line was not sent, or only in part.
struct CallNotSent: Error {}

// MARK: - Incoming lines

extension Connection {
  /// The limits for lines from the daemon. Replies may nest deeper than calls, because
  /// `rpc.discover` returns nested schemas.
  private static let replyLimits = JSONLimits(lineBytes: .max, nesting: 128, batch: .max)

  /// Handles one received line. It must be called on the event loop.
  func handle(_ line: UnsafeRawBufferPointer) {
    guard let messages = try? ServerMessage.read(line, limits: Self.replyLimits) else {
      return close(.garbled)
    }
    for message in messages { handle(message) }
  }

  private func handle(_ message: ServerMessage) {
    switch message {
    case .response(let response): handle(response)
    case .notification(let method, let params): deliver(method, params ?? [])
    case .request(let id, let method, _):
      var line: [UInt8] = []
      let error = UsherError(.methodNotFound, "this client serves no requests of the daemon")
      line.appendError(code: error.reason.code, message: "\(error.message): \(method)", id: id)
      send(line)
    }
  }

  /// Resumes the call to which the reply belongs.
  ///
  /// An error reply with a null id means that the daemon could not read one of this client's lines.
  /// The client cannot tell which call it was, so the connection ends with that error.
  private func handle(_ response: ServerMessage.Response) {
    let result = response.outcome.mapError { UsherError($0) as any Error }
    if response.id == .null {
      if case .failure(let error) = result { return end(error) }
      return close(.garbled)
    }
    let finish: Finish? = state.withLock { state in
      let answer = state.calls.replied(response.id)
      if let line = answer.send { send(line.bytes, of: line.id) }
      return answer.waiter
    }
    if case .failure(let error as UsherError) = result, error.reason == .shuttingDown {
      stopSending()
    }
    finish?(result)
  }
}

// MARK: - Events

typealias EventContinuation = AsyncThrowingStream<EventNotification, any Error>.Continuation

/// The stream of the events of one subscription.
struct EventStream {
  let feed: EventContinuation
  /// The cursor of the last delivered event; before the first event, the cursor that the
  /// subscription began with.
  var cursor: Int

  func ending(_ cause: EventsEnded.Cause) -> EventsEnded { EventsEnded(cause, cursor: cursor) }
}

extension Connection {
  /// Subscribes to events and feeds them into a stream. Events that arrive directly after the reply
  /// are not lost.
  ///
  /// - Parameter dialer: Retained until the stream ends, because the dialer closes the connection
  ///   when it is deallocated.
  func subscribe(
    _ params: [UInt8], deadline: Duration, feed: EventContinuation, dialer: Dialer
  ) async throws {
    let name = EventsSubscribe.name
    _ = try await call(name, params, deadline: deadline) { [weak self] reply in
      guard let self else { return }
      guard let made = try? ReplyCoding.decode(EventsSubscribe.Reply.self, from: reply) else {
        return close(.garbled)
      }
      state.withLock { $0.streams[made.subscription] = .init(feed: feed, cursor: made.cursor) }
      feed.onTermination = { [weak self] _ in
        withExtendedLifetime(dialer) { self?.unsubscribe(made.subscription) }
      }
    }
  }

  private func removeStream(_ subscription: String) -> EventStream? {
    state.withLock { $0.streams.removeValue(forKey: subscription) }
  }

  private func unsubscribe(_ subscription: String) {
    guard removeStream(subscription) != nil else { return }
    unsubscribeAtDaemon(subscription)
  }

  private func unsubscribeAtDaemon(_ subscription: String) {
    guard let params = try? ReplyCoding.encode(EventsUnsubscribe(subscription: subscription)) else {
      return
    }
    send(Self.notification(EventsUnsubscribe.name, params))
  }

  private func deliver(_ method: String, _ params: [UInt8]) {
    switch method {
    case EventNotification.name:
      // A newer daemon may send events that this client cannot decode. They are skipped.
      guard let event = try? ReplyCoding.decode(EventNotification.self, from: params) else {
        return
      }
      deliver(event)
    case EventsLost.name:
      guard let lost = try? ReplyCoding.decode(EventsLost.self, from: params) else { return }
      removeStream(lost.subscription)?.feed
        .finish(throwing: EventsEnded(.overflow, cursor: lost.cursor))
    default: break
    }
  }

  private func deliver(_ event: EventNotification) {
    guard let stream = state.withLock({ $0.streams[event.subscription] }) else {
      return unsubscribeAtDaemon(event.subscription)
    }
    switch stream.feed.yield(event) {
    case .enqueued: state.withLock { $0.streams[event.subscription]?.cursor = event.cursor }
    case .dropped:
      guard removeStream(event.subscription) != nil else { return }
      stream.feed.finish(throwing: stream.ending(.overflow))
      unsubscribeAtDaemon(event.subscription)
    case .terminated: unsubscribe(event.subscription)
    @unknown default: break
    }
  }
}
