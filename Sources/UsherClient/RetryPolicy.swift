import JSONRPC
import UsherCore

/// Decides whether a failed call is sent again, and after which pause.
struct RetryPolicy {
  /// Whether the call may be sent again although the daemon may have begun it already.
  private let isSafe: Bool
  /// How many more times the call may be sent again after a lost connection or a shutdown of the
  /// daemon. The limit keeps a call that crashes the daemon from crashing it again and again.
  private var retriesAfterLoss: Int
  /// Whether the daemon may have begun an attempt that failed.
  private(set) var mayHaveBegun = false
  private var pauses: RetryPauses
  private var isFirst = true

  init(isSafe: Bool, retriesAfterLoss: Int = 1, patience: Duration) {
    self.isSafe = isSafe
    self.retriesAfterLoss = retriesAfterLoss
    pauses = RetryPauses(patience: patience)
  }

  /// Returns how long to pause before the call is sent again; nil if it must not be sent again.
  ///
  /// - Parameter knowsDaemon: Whether this client has ever been connected. If it has, a missing
  ///   socket means that the daemon is restarting.
  mutating func pause(after error: any Error, knowsDaemon: Bool) -> Duration? {
    switch error {
    case is CallNotSent: break
    case let error as UsherError:
      guard error.reason == .shuttingDown, useRetryAfterLoss() else { return nil }
    case let failure as ConnectionError:
      switch failure.kind {
      case .busy: break
      case .noSocket, .refused: guard knowsDaemon else { return nil }
      case .lost:
        guard useRetryAfterLoss() else { return nil }
      case .notPermitted, .badPath, .closed, .garbled, .replyTooLarge, .incompatible, .other:
        return nil
      }
    default: return nil
    }
    defer { isFirst = false }
    return isFirst ? .zero : pauses.pause()
  }

  private mutating func useRetryAfterLoss() -> Bool {
    guard isSafe, retriesAfterLoss > 0 else { return false }
    retriesAfterLoss -= 1
    mayHaveBegun = true
    return true
  }
}

/// The pauses between attempts to reach the daemon: 50 ms at first, each twice the one before, at
/// most 1 s, and `patience` in total.
struct RetryPauses {
  private var left: Duration
  private var next = Duration.milliseconds(50)

  init(patience: Duration) { left = patience }

  /// Returns the pause before the next attempt; nil if `patience` is used up.
  mutating func pause() -> Duration? {
    guard left > .zero else { return nil }
    let pause = min(next, left)
    left -= pause
    next = min(next * 2, .seconds(1))
    return pause
  }
}
