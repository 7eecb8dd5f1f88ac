import Glibc
import Synchronization

/// Closes sockets beside the event loop, one after the other.
///
/// To close a socket the kernel frees all that was sent to it and wakes who sent it. With a full socket
/// that takes ten times as long as to accept it, and whoever connects next would wait for it.
package final class SocketCloser: Sendable {
  /// The most sockets that may wait to be closed, because each has a descriptor. The caller closes the rest.
  private static let most = 256

  private struct State {
    var waiting: [CInt] = []
    /// Whether a thread closes those that wait.
    var isClosing = false
  }

  private let start: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let state = Mutex(State())

  /// - Parameter start: Begins a function on another thread and returns. At most one runs at a time.
  package init(on start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.start = start
  }

  package func close(_ sockets: some Collection<CInt>) {
    guard !sockets.isEmpty else { return }
    let (isKept, begins) = state.withLock { state in
      guard state.waiting.count + sockets.count <= Self.most else { return (false, false) }
      state.waiting += sockets
      defer { state.isClosing = true }
      return (true, !state.isClosing)
    }
    if begins { start { [self] in closeAll() } }
    if !isKept { Self.close(sockets) }
  }

  private func closeAll() {
    while let sockets = next() { Self.close(sockets) }
  }

  /// - Returns: Those that wait; nil where none does: then nobody closes them until ``start`` is called.
  private func next() -> [CInt]? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.isClosing = false
        return nil
      }
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  private static func close(_ sockets: some Collection<CInt>) {
    for socket in sockets { _ = Glibc.close(socket) }
  }
}
