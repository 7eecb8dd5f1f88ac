package import NIOCore
import Synchronization

/// Offset of a ``SocketLoop``'s timers from the machine's clock, with which tests fire timers
/// without waiting.
///
/// Only timers are shifted. Measured durations, such as the time that a user's calls take, are not.
package final class LoopTimeShift: Sendable {
  private struct State {
    var ahead = TimeAmount.nanoseconds(0)
    /// Functions that wake the event loops, so that timers that have become due fire.
    var wakes: [@Sendable () -> Void] = []
  }

  private let state = Mutex(State())

  package init() {}

  var ahead: TimeAmount { state.withLock { $0.ahead } }

  /// Moves the timers further ahead of the clock; timers that are then due fire.
  package func advance(by time: TimeAmount) {
    let wakes = state.withLock { state in
      state.ahead = state.ahead + time
      return state.wakes
    }
    for wake in wakes { wake() }
  }

  /// Calls `wake` after each ``advance(by:)``.
  func onMove(_ wake: @escaping @Sendable () -> Void) {
    state.withLock { $0.wakes.append(wake) }
  }
}
