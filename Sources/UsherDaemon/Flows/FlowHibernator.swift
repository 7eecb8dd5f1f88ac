import Synchronization

/// The flows that moved last. Who is not among them any more rests.
final class FlowHibernator: Sendable {
  private struct State {
    var sessions: [FlowSession] = []
    /// Those before this one have left.
    var first = 0
  }

  private let most: Int
  private let state = Mutex(State())

  /// - Parameter most: How many stay awake: a few kilobytes each.
  init(most: Int = 1024) { self.most = most }

  /// Notes that a flow has moved; lets another one rest, if there are too many.
  func moved(_ session: FlowSession) {
    session.noteMove()
    let longest = state.withLock { state -> FlowSession? in
      state.sessions.append(session)
      guard state.sessions.count - state.first > most else { return nil }
      defer { state.first += 1 }
      if state.first > most {
        state.sessions.removeFirst(state.first)
        state.first = 0
      }
      return state.sessions[state.first]
    }
    longest?.rest()
  }
}
