import Glibc
import Synchronization

/// Closes sockets on another thread, one after the other, so that the event loop does not wait.
///
/// When a socket is closed, the kernel frees everything that was sent to it and wakes the sender.
/// For a full socket this takes ten times as long as accepting it and would delay the next
/// connections.
package final class SocketCloser: Sendable {
  /// The most sockets in the queue, because each one occupies a descriptor until it is closed. If
  /// the queue is full, `close(_:)` closes the sockets on the calling thread.
  private static let limit = 256

  private struct State {
    var waiting: [CInt] = []
    /// Whether a thread is closing sockets at present.
    var isClosing = false
  }

  private let start: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let state = Mutex(State())

  /// - Parameter start: Starts a function, which closes sockets, on another thread and returns. At
  ///   most one function that was passed to it runs at a time.
  package init(on start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.start = start
  }

  package func close(_ sockets: some Collection<CInt>) {
    guard !sockets.isEmpty else { return }
    let (isKept, begins) = state.withLock { state in
      guard state.waiting.count + sockets.count <= Self.limit else { return (false, false) }
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

  /// Takes all sockets out of the queue. Returns nil if there are none; the thread then ends, and
  /// the next `close(_:)` starts another one.
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
