import Synchronization

/// Connection that must be closed when the daemon stops, and cleared of secrets when its store is
/// locked. Its methods are called on its event loop only.
package protocol OpenConnection: AnyObject {
  /// Answers the calls that were received before the daemon began to stop, then closes the
  /// connection.
  ///
  /// - Parameter unreadReplySeconds: The seconds that a slow reader has to receive the written
  ///   replies before the connection is closed.
  func drain(unreadReplySeconds: Int)

  /// Refuses all calls that are not answered yet, because the time for answers is over.
  func end()

  /// Drops cached replies, and closes the connection if it has replies that are not sent yet.
  func dropUnread()
}

/// The open connections to the daemon's sockets. Safe to use from any thread.
package final class OpenConnections: Sendable {
  private struct State {
    /// The connections, each with its number in the order of ``add(_:on:)``.
    var open: [ObjectIdentifier: (number: UInt64, connection: OnLoop<any OpenConnection>)] = [:]
    var added: UInt64 = 0
    var awaitsEnd: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  package init() {}

  package func add(_ connection: any OpenConnection, on loop: SocketLoop) {
    let held = OnLoop(connection, loop)
    state.withLock { state in
      state.open[ObjectIdentifier(connection)] = (state.added, held)
      state.added += 1
    }
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

  /// Calls `body` for each open connection, on the event loop of the connection.
  package func forEachOnLoop(_ body: @escaping @Sendable (any OpenConnection) -> Void) {
    for connection in all { connection.loop.execute { body(connection.value) } }
  }

  /// Calls ``OpenConnection/dropUnread()`` for each connection and returns when that is done. Used
  /// when the store is locked: replies contain secrets.
  package func dropUnread() async {
    let all = all
    try? await all.first?.loop.submit { for connection in all { connection.value.dropUnread() } }
  }

  /// Waits until no connection is open. Used when the daemon stops.
  package func waitUntilEmpty() async {
    await withCheckedContinuation { continuation in
      let isNone = state.withLock { state in
        if !state.open.isEmpty { state.awaitsEnd.append(continuation) }
        return state.open.isEmpty
      }
      if isNone { continuation.resume() }
    }
  }

  /// The connections in the order of their arrival. The order of the dictionary depends on
  /// addresses and differs between two runs.
  private var all: [OnLoop<any OpenConnection>] {
    state.withLock { $0.open.values.sorted { $0.number < $1.number } }.map(\.connection)
  }
}
