import JSONRPC
import UsherCore

/// Whether a call is made again, decided by what has become of it.
struct Persistence {
  /// Whether the call may be made where the daemon may have begun it.
  private let isSafe: Bool
  /// How often it may be cut short, by a lost connection or a daemon that stops: a call that is the
  /// daemon's death is not to be so again and again.
  private var losses: Int
  private var away: Absence
  private var isFirst = true

  init(isSafe: Bool, losses: Int = 1, patience: Duration) {
    self.isSafe = isSafe
    self.losses = losses
    away = Absence(patience: patience)
  }

  /// - Parameter knowsDaemon: Whether this client has been connected: one that was there comes back.
  /// - Returns: How long to pause before the call is made again; nil where it is not.
  mutating func pause(after error: any Error, knowsDaemon: Bool) -> Duration? {
    switch error {
    case is Unheard: break
    case let error as UsherError:
      guard error.reason == .shuttingDown, mayBeCutShort() else { return nil }
    case let failure as ConnectionError:
      switch failure.kind {
      case .busy: break
      case .noSocket, .refused: guard knowsDaemon else { return nil }
      case .lost:
        guard mayBeCutShort() else { return nil }
      case .notPermitted, .badPath, .closed, .garbled, .replyTooLarge, .incompatible, .other:
        return nil
      }
    default: return nil
    }
    defer { isFirst = false }
    return isFirst ? .zero : away.pause()
  }

  private mutating func mayBeCutShort() -> Bool {
    guard isSafe, losses > 0 else { return false }
    losses -= 1
    return true
  }
}

/// How long a daemon has been away, in growing pauses between looks.
struct Absence {
  private var left: Duration
  private var next = Duration.milliseconds(50)

  init(patience: Duration) { left = patience }

  /// How long to pause before the next look; nil when the patience is used up.
  mutating func pause() -> Duration? {
    guard left > .zero else { return nil }
    let pause = min(next, left)
    left -= pause
    next = min(next * 2, .seconds(1))
    return pause
  }
}
