import Synchronization

/// Connection that ends when the daemon stops or is locked. On its loop only.
package protocol OpenConnection: AnyObject {
  /// Answers what was received before the daemon began to stop, then closes.
  ///
  /// - Parameter unreadReplySeconds: The seconds that written replies may take to be sent before
  ///   the close.
  func drain(unreadReplySeconds: Int)

  /// Refuses what is unanswered, because the time for answers is over.
  func end()

  /// Drops cached and unread replies, and closes if a reply is unsent.
  func dropUnread()
}

/// Open connections to the daemon's sockets. Safe to use from any thread.
package final class OpenConnections: Sendable {
  private struct State {
    var open: [ObjectIdentifier: OnLoop<any OpenConnection>] = [:]
    var awaitsEnd: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  package init() {}

  package func add(_ connection: any OpenConnection, on loop: SocketLoop) {
    let held = OnLoop(connection, loop)
    state.withLock { $0.open[ObjectIdentifier(connection)] = held }
  }

  /// Removes a connection that has closed.
  package func remove(_ connection: any OpenConnection) {
    let key = ObjectIdentifier(connection)
    let waiting = state.withLock { state in
      var waiting: [CheckedContinuation<Void, Never>] = []
      state.open[key] = nil
      if state.open.isEmpty { swap(&waiting, &state.awaitsEnd) }
      return waiting
    }
    for one in waiting { one.resume() }
  }

  /// Calls `word` for each open connection, on the connection's loop.
  package func notifyEach(_ word: @escaping @Sendable (any OpenConnection) -> Void) {
    for connection in all { connection.loop.execute { word(connection.value) } }
  }

  /// Drops cached and unread replies of all connections, and closes each connection that has an
  /// unsent reply; returns when that is done.
  package func dropUnread() async {
    let all = all
    try? await all.first?.loop.submit { for connection in all { connection.value.dropUnread() } }
  }

  /// Returns when no connection is open.
  package func allClosed() async {
    await withCheckedContinuation { continuation in
      let isNone = state.withLock { state in
        if !state.open.isEmpty { state.awaitsEnd.append(continuation) }
        return state.open.isEmpty
      }
      if isNone { continuation.resume() }
    }
  }

  private var all: [OnLoop<any OpenConnection>] { state.withLock { Array($0.open.values) } }
}
