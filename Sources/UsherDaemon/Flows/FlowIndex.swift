import Synchronization
import UsherCore
import UsherStore

/// The flows in memory, found by id and by owner.
final class FlowIndex: Sendable {
  private struct State {
    var byID: [FlowID: FlowSession] = [:]
    var byOwner: [Owner: Set<FlowID>] = [:]
    /// Places of flows that are about to begin.
    var reserved: [Owner: Int] = [:]

    mutating func insert(_ session: FlowSession) {
      byID[session.id] = session
      byOwner[session.owner, default: []].insert(session.id)
    }

    mutating func release(_ owner: Owner) {
      reserved[owner, default: 1] -= 1
      if reserved[owner] == 0 { reserved[owner] = nil }
    }

    func isLive(_ id: FlowID) -> Bool { byID[id]?.standing.isFinished == false }
  }

  private let state = Mutex(State())

  var all: [FlowSession] { state.withLock { Array($0.byID.values) } }

  func session(_ id: FlowID) -> FlowSession? { state.withLock { $0.byID[id] } }

  func sessions(of owner: Owner) -> [FlowSession] {
    state.withLock { state in
      (state.byOwner[owner] ?? []).compactMap { state.byID[$0] }
    }
  }

  func insert(_ session: FlowSession) { state.withLock { $0.insert(session) } }

  /// Keeps a place for a flow that is about to begin: ``occupy(_:)`` takes it, or ``release(_:)``.
  ///
  /// - Returns: False when the owner's live flows and places are that many already.
  func reserve(_ owner: Owner, atMost most: Int) -> Bool {
    state.withLock { state in
      let live = (state.byOwner[owner] ?? []).count { state.isLive($0) }
      guard live + state.reserved[owner, default: 0] < most else { return false }
      state.reserved[owner, default: 0] += 1
      return true
    }
  }

  /// Puts a flow into the place that was kept for it.
  func occupy(_ session: FlowSession) {
    state.withLock { state in
      state.insert(session)
      state.release(session.owner)
    }
  }

  func release(_ owner: Owner) { state.withLock { $0.release(owner) } }

  func remove(_ session: FlowSession) {
    state.withLock { state in
      state.byID[session.id] = nil
      state.byOwner[session.owner]?.remove(session.id)
      if state.byOwner[session.owner]?.isEmpty == true { state.byOwner[session.owner] = nil }
    }
  }
}

/// A place that is kept for a flow that is about to begin; given back when nobody takes it.
final class FlowPlace: Sendable {
  private let index: FlowIndex
  private let owner: Owner
  private let isHeld = Atomic(true)

  /// Nil where the owner's live flows and places are that many already.
  init?(_ index: FlowIndex, for owner: Owner, atMost most: Int) {
    guard index.reserve(owner, atMost: most) else { return nil }
    self.index = index
    self.owner = owner
  }

  deinit { release() }

  func occupy(_ session: FlowSession) {
    if isHeld.exchange(false, ordering: .relaxed) {
      index.occupy(session)
    } else {
      index.insert(session)
    }
  }

  /// Doing it twice, or after a flow has taken it, changes nothing.
  func release() { if isHeld.exchange(false, ordering: .relaxed) { index.release(owner) } }
}
