import Synchronization

/// Open connections to the daemon's sockets. Safe to use from any thread.
final class OpenConnections: Sendable {
  private struct State {
    var open: [ObjectIdentifier: OnLoop<ConnectionHandler>] = [:]
    var awaitsEnd: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  func add(_ handler: ConnectionHandler, on loop: SocketLoop) {
    let held = OnLoop(handler, loop)
    state.withLock { $0.open[ObjectIdentifier(handler)] = held }
  }

  /// Removes a connection that has closed.
  func remove(_ handler: ConnectionHandler) {
    let key = ObjectIdentifier(handler)
    let waiting = state.withLock { state in
      var waiting: [CheckedContinuation<Void, Never>] = []
      state.open[key] = nil
      if state.open.isEmpty { swap(&waiting, &state.awaitsEnd) }
      return waiting
    }
    for one in waiting { one.resume() }
  }

  /// Calls `word` for each open connection, on the connection's loop.
  func notifyEach(_ word: @escaping @Sendable (ConnectionHandler) -> Void) {
    for handler in all { handler.loop.execute { word(handler.value) } }
  }

  /// Drops cached and unread replies of all connections, and closes each connection that has an
  /// unsent reply; returns when that is done.
  func dropUnread() async {
    let all = all
    try? await all.first?.loop.submit { for handler in all { handler.value.dropUnread() } }
  }

  /// Returns when no connection is open.
  func allClosed() async {
    await withCheckedContinuation { continuation in
      let isNone = state.withLock { state in
        if !state.open.isEmpty { state.awaitsEnd.append(continuation) }
        return state.open.isEmpty
      }
      if isNone { continuation.resume() }
    }
  }

  private var all: [OnLoop<ConnectionHandler>] { state.withLock { Array($0.open.values) } }
}
