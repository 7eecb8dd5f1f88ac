package import NIOCore
import Synchronization

/// How far the timers of a ``SocketLoop`` are ahead of this machine's clock: with it, tests let them go
/// off without waiting.
///
/// Only timers are moved. What a loop measures, such as the time that a user's calls take, is not.
package final class LoopTimeShift: Sendable {
  private struct State {
    var ahead = TimeAmount.nanoseconds(0)
    /// Each wakes a loop.
    var wakes: [@Sendable () -> Void] = []
  }

  private let state = Mutex(State())

  package init() {}

  var ahead: TimeAmount { state.withLock { $0.ahead } }

  /// Moves the timers further ahead. Those that are due then go off.
  package func advance(by time: TimeAmount) {
    let wakes = state.withLock { state in
      state.ahead = state.ahead + time
      return state.wakes
    }
    for wake in wakes { wake() }
  }

  /// Has `wake` called after each move.
  func onMove(_ wake: @escaping @Sendable () -> Void) {
    state.withLock { $0.wakes.append(wake) }
  }
}
