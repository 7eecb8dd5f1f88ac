import Synchronization
import UsherCore
import UsherStore

/// The flows in memory, found by id and by owner.
final class FlowIndex: Sendable {
  private struct State {
    var byID: [FlowID: FlowSession] = [:]
    var byOwner: [Owner: Set<FlowID>] = [:]
  }

  private let state = Mutex(State())

  var all: [FlowSession] { state.withLock { Array($0.byID.values) } }

  func session(_ id: FlowID) -> FlowSession? { state.withLock { $0.byID[id] } }

  func sessions(of owner: Owner) -> [FlowSession] {
    state.withLock { state in
      (state.byOwner[owner] ?? []).compactMap { state.byID[$0] }
    }
  }

  func insert(_ session: FlowSession) {
    state.withLock { state in
      state.byID[session.id] = session
      state.byOwner[session.owner, default: []].insert(session.id)
    }
  }

  func remove(_ session: FlowSession) {
    state.withLock { state in
      state.byID[session.id] = nil
      state.byOwner[session.owner]?.remove(session.id)
      if state.byOwner[session.owner]?.isEmpty == true { state.byOwner[session.owner] = nil }
    }
  }
}
