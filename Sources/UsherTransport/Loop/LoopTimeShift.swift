package import NIOCore
import Synchronization

/// Offset of a ``SocketLoop``'s timers from the machine's clock, with which tests fire timers
/// without waiting.
///
/// Only timers are shifted. Measured durations, such as the time that a user's calls take, are not.
package final class LoopTimeShift: Sendable {
  private struct State {
    var offset = TimeAmount.nanoseconds(0)
    /// Functions that wake the event loops, so that timers that have become due fire.
    var wakes: [@Sendable () -> Void] = []
  }

  private let state = Mutex(State())

  package init() {}

  var offset: TimeAmount { state.withLock { $0.offset } }

  /// Moves the timers further ahead of the clock; timers that are then due fire.
  package func advance(by time: TimeAmount) {
    let wakes = state.withLock { state in
      state.offset = state.offset + time
      return state.wakes
    }
    for wake in wakes { wake() }
  }

  /// Calls `wake` after each ``advance(by:)``.
  func onAdvance(_ wake: @escaping @Sendable () -> Void) {
    state.withLock { $0.wakes.append(wake) }
  }
}
