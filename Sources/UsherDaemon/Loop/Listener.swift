import NIOCore
import UsherCore
import UsherSystem

/// A listening socket. One who comes is let in between two looks at the others.
final class Listener: LoopSource {
  /// How long nobody is let in where that could not be.
  static let rest = TimeAmount.milliseconds(100)
  /// How often that is told at most.
  private static let silence = TimeAmount.minutes(1)

  private let accept: (DirectSocket) -> DirectSocket.Accepted
  private let welcome: (DirectSocket) -> String?
  private let tell: (String) -> Void
  private var told: NIODeadline?
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - accept: How one is let in.
  ///   - welcome: Gets one who has come, to close; answers why where it cannot let him in.
  ///   - tell: Told why somebody cannot be let in, or nobody.
  init(
    _ socket: DirectSocket, on loop: SocketLoop,
    accept: @escaping (DirectSocket) -> DirectSocket.Accepted = { $0.accept() },
    welcome: @escaping (DirectSocket) -> String?, tell: @escaping (String) -> Void
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
    switch accept(socket) {
    case .newcomer(let newcomer): welcome(newcomer).map(tellSeldom)
    case .nobody: break
    case .impossible(let words): pause(words)
    }
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
    let now = NIODeadline.now()
    guard told.map({ $0 + Self.silence <= now }) ?? true else { return }
    told = now
    tell(words)
  }
}
