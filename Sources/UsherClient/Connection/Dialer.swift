import NIOCore
import NIOPosix
import UsherAPI
import UsherCore

/// Opens a connection to the daemon at the first call, and another one whenever the previous
/// connection has ended.
actor Dialer {
  struct Setup: Sendable {
    var socketPath: String
    var hello: RPCHello
    var maxReplyBytes: Int
  }

  private enum State {
    case idle
    case dialing(Task<Connection, any Error>)
    case connected(Connection)
    case closed
  }

  private let setup: Setup
  private var state = State.idle
  /// Whether this client has ever been connected. If it has, a missing socket means that the daemon
  /// is restarting.
  private(set) var hasConnected = false

  init(_ setup: Setup) { self.setup = setup }

  deinit {
    if case .connected(let connection) = state { connection.close() }
  }

  /// Returns the open connection, or opens one; throws `ConnectionError`.
  func connection() async throws -> Connection {
    switch state {
    case .connected(let connection) where connection.isOpen: return connection
    case .dialing(let task): return try await task.value
    case .closed: throw ConnectionError(.closed, socketPath: setup.socketPath)
    case .idle, .connected: return try await dial()
    }
  }

  func close() {
    if case .connected(let connection) = state { connection.close() }
    state = .closed
  }

  private func dial() async throws -> Connection {
    let setup = setup
    let task = Task { try await Connection.open(setup) }
    state = .dialing(task)
    let result = await task.result
    if case .success = result { hasConnected = true }
    switch state {
    case .dialing(task):
      state = if case .success(let connection) = result { .connected(connection) } else { .idle }
    case .closed: if case .success(let connection) = result { connection.close() }
    case .idle, .dialing, .connected: break
    }
    return try result.get()
  }
}

extension Connection {
  /// Upper bound for connect(2). The call on a Unix socket succeeds or fails at once.
  private static let connectLimit = TimeAmount.seconds(5)

  fileprivate static func open(_ setup: Dialer.Setup) async throws -> Connection {
    do {
      let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(connectLimit)
      let connection = try await bootstrap.connect(unixDomainSocketPath: setup.socketPath) {
        channel in
        channel.eventLoop.makeCompletedFuture {
          let connection = Connection(channel, socketPath: setup.socketPath)
          let handler = LineHandler(connection, maxReplyBytes: setup.maxReplyBytes)
          try channel.pipeline.syncOperations.addHandler(handler)
          return connection
        }
      }
      try connection.sayHello(setup.hello)
      return connection
    } catch {
      throw ConnectionError(error, socketPath: setup.socketPath)
    }
  }

  /// Sends `rpc.hello` ahead of the first call, without waiting for the reply.
  ///
  /// A reply with another protocol version closes the connection. An error reply is ignored,
  /// because the daemon answers calls without a hello.
  private func sayHello(_ hello: RPCHello) throws {
    call(RPCHello.name, try ReplyCoding.encode(hello)) { [weak self] result in
      guard case .success(let reply) = result,
        let answer = try? ReplyCoding.decode(RPCHello.Reply.self, from: reply)
      else { return }
      if answer.protocol != 1 { self?.close(.incompatible) }
    }
  }
}

extension ConnectionError {
  fileprivate init(_ error: any Error, socketPath: String) {
    if let failure = error as? ConnectionError {
      self = failure
      return
    }
    guard let error = error as? IOError else {
      self.init(error is SocketAddressError ? .badPath : .other, socketPath: socketPath)
      return
    }
    self.init(connecting: error.errnoCode, socketPath: socketPath)
  }
}
