import NIOCore
import UsherCore
package import UsherSystem

/// Listening socket on a ``SocketLoop``. It accepts all connections in the backlog, for at most
/// ``slice`` per loop iteration, because non-blocking connects of clients fail if the backlog is
/// full.
package final class Listener: LoopSource {
  /// The pause after accept(2) failed, for instance because descriptors are exhausted.
  static let pauseTime = TimeAmount.milliseconds(100)
  /// The minimum interval between two reports to `report`.
  private static let reportInterval = TimeAmount.minutes(1)

  /// The maximum time for accepting in one loop iteration.
  private static let slice = TimeAmount.microseconds(100)
  /// The number of consecutive connections above which the backlog counts as crowded, that is,
  /// filled faster than it is emptied.
  private static let crowdThreshold = 32

  private let accept: (DirectSocket) -> DirectSocket.Accepted
  private let serve: (DirectSocket, _ isCrowded: Bool) -> String?
  private let report: (String) -> Void
  private var lastReport: NIODeadline?
  private var timer: LoopTimer?
  /// The number of connections accepted since the backlog was last empty.
  private var consecutive = 0

  /// - Parameters:
  ///   - accept: Accepts one connection.
  ///   - serve: Takes over an accepted socket and learns whether the backlog is crowded. Returns
  ///     the cause if the daemon cannot serve the connection.
  ///   - report: Called with the cause if one connection, or all of them, cannot be served.
  package init(
    _ socket: DirectSocket, on loop: SocketLoop,
    accept: @escaping (DirectSocket) -> DirectSocket.Accepted,
    serve: @escaping (DirectSocket, _ isCrowded: Bool) -> String?,
    report: @escaping (String) -> Void
  ) {
    self.accept = accept
    self.serve = serve
    self.report = report
    super.init(socket, on: loop)
  }

  override func ready(_ events: Readiness) {
    guard let socket else { return }
    guard events.isDisjoint(with: .disconnected) else {
      // The listener stops for good: another process that has the socket can shut it down again and
      // again, and each time would be reported.
      report("the socket was shut down from outside")
      return close()
    }
    let begun = loop.now
    repeat {
      switch accept(socket) {
      case .connection(let accepted):
        consecutive += 1
        serve(accepted, consecutive > Self.crowdThreshold).map(logRarely)
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
    report(cause)
  }
}
