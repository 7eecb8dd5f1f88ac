import Synchronization

/// Keeps the flows that moved last awake, and packs the machines of the others.
final class FlowHibernator: Sendable {
  private struct State {
    var flows: [LiveFlow] = []
    /// The index of the first entry that still counts.
    var first = 0
  }

  private let most: Int
  private let state = Mutex(State())

  /// - Parameter most: The number of moves that are remembered; it bounds the flows that stay
  ///   awake, at a few kilobytes each.
  init(most: Int = 1024) { self.most = most }

  /// Records that a flow has moved; if there are too many entries, drops the oldest and lets its
  /// flow rest.
  func moved(_ flow: LiveFlow) {
    flow.countMove()
    let longest = state.withLock { state -> LiveFlow? in
      state.flows.append(flow)
      guard state.flows.count - state.first > most else { return nil }
      defer { state.first += 1 }
      if state.first > most {
        state.flows.removeFirst(state.first)
        state.first = 0
      }
      return state.flows[state.first]
    }
    longest?.rest()
  }
}
