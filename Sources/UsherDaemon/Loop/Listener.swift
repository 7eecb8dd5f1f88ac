import NIOCore
import UsherCore
import UsherSystem

/// A listening socket. Accepts all who wait, for at most ``slice`` between two looks at the other
/// sockets: a full queue would make connects fail that do not block.
final class Listener: LoopSource {
  /// How long nobody is let in where that could not be.
  static let rest = TimeAmount.milliseconds(100)
  /// How often that is told at most.
  private static let silence = TimeAmount.minutes(1)

  /// How long it accepts in one turn of the loop.
  private static let slice = TimeAmount.microseconds(100)
  /// So many in a row, and the queue is not empty: it is crowded.
  private static let crowd = 32

  private let accept: (DirectSocket) -> DirectSocket.Accepted
  private let welcome: (DirectSocket, _ isCrowded: Bool) -> String?
  private let tell: (String) -> Void
  private var told: NIODeadline?
  private var timer: LoopTimer?
  /// Accepted since the queue was last seen empty.
  private var inARow = 0

  /// - Parameters:
  ///   - accept: How one is let in.
  ///   - welcome: Gets one who has come, to close, and whether more wait than are accepted; answers why
  ///     where it cannot let him in.
  ///   - tell: Told why somebody cannot be let in, or nobody.
  init(
    _ socket: DirectSocket, on loop: SocketLoop,
    accept: @escaping (DirectSocket) -> DirectSocket.Accepted = { $0.accept() },
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
      // For good: whoever else has the socket can do that, and it would be told of again and again.
      tell("the socket was shut down from outside")
      return close()
    }
    let begun = loop.now
    repeat {
      switch accept(socket) {
      case .connection(let accepted):
        inARow += 1
        welcome(accepted, inARow > Self.crowd).map(tellSeldom)
      case .closed(let count): inARow += count
      case .nobody:
        inARow = 0
        return
      case .impossible(let words): return pause(words)
      }
    } while isOpen && loop.now - begun < Self.slice
    // On a slow machine one connect takes a whole slice: without this look, connects that come one
    // after the other would count as a crowd.
    if isOpen, !socket.hasWaiting { inARow = 0 }
  }

  override func close() {
    timer?.cancel()
    super.close()
  }

  /// Whoever waits would be told of again and again.
  private func pause(_ words: String) {
    tellSeldom(words)
    want([])
    timer = loop.scheduleTask(in: Self.rest) { [self] in want(.readable) }
  }

  private func tellSeldom(_ words: String) {
    let now = loop.now
    guard told.map({ $0 + Self.silence <= now }) ?? true else { return }
    told = now
    tell(words)
  }
}
