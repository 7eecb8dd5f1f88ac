import NIOCore
import UsherCore
package import UsherSystem

/// Listening socket on a ``SocketLoop``. It accepts all connections in the backlog, for at most
/// ``slice`` per loop iteration, because non-blocking connects of clients fail if the backlog is
/// full.
package final class Listener: LoopSource {
  /// The pause after accept(2) failed, for instance because descriptors are exhausted.
  static let rest = TimeAmount.milliseconds(100)
  /// The minimum interval between two reports to `tell`.
  private static let silence = TimeAmount.minutes(1)

  /// The maximum time for accepting in one loop iteration.
  private static let slice = TimeAmount.microseconds(100)
  /// The number of consecutive connections above which the backlog counts as crowded, that is,
  /// filled faster than it is emptied.
  private static let crowd = 32

  private let accept: (DirectSocket) -> DirectSocket.Accepted
  private let welcome: (DirectSocket, _ isCrowded: Bool) -> String?
  private let tell: (String) -> Void
  private var told: NIODeadline?
  private var timer: LoopTimer?
  /// The number of connections accepted since the backlog was last empty.
  private var inARow = 0

  /// - Parameters:
  ///   - accept: Accepts one connection.
  ///   - welcome: Takes over an accepted socket; is told whether the backlog is crowded. Returns
  ///     the cause if the daemon cannot serve the connection.
  ///   - tell: Called with the cause if one connection, or all of them, cannot be served.
  package init(
    _ socket: DirectSocket, on loop: SocketLoop,
    accept: @escaping (DirectSocket) -> DirectSocket.Accepted,
    welcome: @escaping (DirectSocket, _ isCrowded: Bool) -> String?,
    tell: @escaping (String) -> Void
  ) {
    self.accept = accept
    self.welcome = welcome
    self.tell = tell
    super.init(socket, on: loop)
  }

  override func ready(_ events: Readiness) {
    guard let socket else { return }
    guard events.isDisjoint(with: .gone) else {
      // The listener stops for good: another process that has the socket can shut it down again and
      // again, and each time would be reported.
      tell("the socket was shut down from outside")
      return close()
    }
    let begun = loop.now
    repeat {
      switch accept(socket) {
      case .connection(let accepted):
        inARow += 1
        welcome(accepted, inARow > Self.crowd).map(logRarely)
      case .closed(let count): inARow += count
      case .nobody:
        inARow = 0
        return
      case .impossible(let words): return pause(words)
      }
    } while isOpen && loop.now - begun < Self.slice
    // On a slow machine accepting one connection takes a whole slice. Without this check,
    // connections that come one after the other would count as a crowd.
    if isOpen, !socket.hasWaiting { inARow = 0 }
  }

  package override func close() {
    timer?.cancel()
    super.close()
  }

  /// Stops accepting for ``rest``, because the connection that cannot be accepted would make the
  /// socket ready in each loop iteration.
  private func pause(_ words: String) {
    logRarely(words)
    want([])
    timer = loop.scheduleTask(in: Self.rest) { [self] in want(.readable) }
  }

  private func logRarely(_ words: String) {
    let now = loop.now
    guard told.map({ $0 + Self.silence <= now }) ?? true else { return }
    told = now
    tell(words)
  }
}
