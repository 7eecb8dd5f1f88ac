import NIOCore
import UsherCore
package import UsherSystem

/// Listening socket on a ``SocketLoop``. It accepts all connections in the backlog, for at most
/// ``slice`` per loop iteration, because non-blocking connects of clients fail if the backlog is
/// full.
package final class Listener: LoopSource {
  /// The pause after accept(2) failed, for instance because descriptors are exhausted.
  static let pauseTime = TimeAmount.milliseconds(100)
  /// The minimum interval between two log entries.
  private static let reportInterval = TimeAmount.minutes(1)

  /// The maximum time for accepting in one loop iteration.
  private static let slice = TimeAmount.microseconds(100)
  /// The number of consecutive connections above which the backlog counts as crowded, that is,
  /// filled faster than it is emptied.
  private static let crowdThreshold = 32

  private let acceptor: any SocketAcceptor
  private let isAdmin: Bool
  private var lastReport: NIODeadline?
  private var timer: LoopTimer?
  /// The number of connections accepted since the backlog was last empty.
  private var consecutive = 0

  /// - Parameter isAdmin: Whether the socket is the admin socket.
  package init(
    _ socket: DirectSocket, on loop: SocketLoop, acceptor: any SocketAcceptor, isAdmin: Bool
  ) {
    self.acceptor = acceptor
    self.isAdmin = isAdmin
    super.init(socket, on: loop)
  }

  override func ready(_ events: Readiness) {
    guard let socket else { return }
    guard events.isDisjoint(with: .disconnected) else {
      // The listener stops for good: another process that has the socket can shut it down again and
      // again, and each time would be reported.
      acceptor.logNotAccepting("the socket was shut down from outside")
      return close()
    }
    let begun = loop.now
    repeat {
      switch isAdmin ? socket.accept() : acceptor.accept(from: socket, on: loop) {
      case .connection(let accepted):
        consecutive += 1
        let isCrowded = consecutive > Self.crowdThreshold
        acceptor.admit(accepted, on: loop, isAdmin: isAdmin, isCrowded: isCrowded).map(logRarely)
      case .closed(let count): consecutive += count
      case .none:
        consecutive = 0
        return
      case .impossible(let cause): return pause(cause)
      }
    } while isOpen && loop.now - begun < Self.slice
    // On a slow machine accepting one connection takes a whole slice. Without this check,
    // connections that come one after the other would count as a crowd.
    if isOpen, !socket.hasWaiting { consecutive = 0 }
  }

  package override func close() {
    timer?.cancel()
    super.close()
  }

  /// Stops accepting for ``pauseTime``, because the connection that cannot be accepted would make
  /// the socket ready in each loop iteration.
  private func pause(_ cause: String) {
    logRarely(cause)
    setInterest([])
    timer = loop.scheduleTask(in: Self.pauseTime) { [self] in setInterest(.readable) }
  }

  private func logRarely(_ cause: String) {
    let now = loop.now
    guard lastReport.map({ $0 + Self.reportInterval <= now }) ?? true else { return }
    lastReport = now
    acceptor.logNotAccepting(cause)
  }
}
