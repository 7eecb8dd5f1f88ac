import Synchronization

/// The connections to the sockets, so that they can be told something. From any thread.
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

  /// One is closed.
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

  /// Tells each of those that are open something, on its loop.
  func tell(_ word: @escaping @Sendable (ConnectionHandler) -> Void) {
    for handler in all { handler.loop.execute { word(handler.value) } }
  }

  /// Has each that keeps replies which the other side has not read closed, replies and all; returns
  /// when that is done.
  func dropUnread() async {
    let all = all
    try? await all.first?.loop.submit { for handler in all { handler.value.dropUnread() } }
  }

  /// Returns when none is open.
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
