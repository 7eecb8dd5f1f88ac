import Synchronization
import UsherCore
import UsherStore
import UsherSystem

/// The flows in memory, indexed by id and owner, by request id, and by owner for the limits.
final class FlowIndex: Sendable {
  /// The flows of one owner.
  private struct OwnerFlows {
    var flows: [FlowID: LiveFlow] = [:]
    var live = 0
    /// The number of places reserved for flows that are about to start.
    var reserved = 0
    /// The ended flows that have left a handoff secret for later flows.
    var predecessors: Set<FlowID> = []

    var isEmpty: Bool { flows.isEmpty && reserved == 0 }
    /// The number that is compared with the limit of live flows: live flows and reserved places.
    var used: Int { live + reserved }
  }

  fileprivate struct Request: Hashable {
    let provider: ProviderName
    let id: String
  }

  private struct State {
    var byOwner = SharedLimits<Owner, OwnerFlows>()
    var live = 0
    /// The live flows by their request id, which a provider's callback contains.
    var requests: [Request: [LiveFlow]] = [:]

    mutating func insert(_ flow: LiveFlow) {
      byOwner[flow.owner, or: OwnerFlows()].flows[flow.id] = flow
      guard !flow.isFinished else {
        if flow.handoffSecret != nil { byOwner[flow.owner]?.predecessors.insert(flow.id) }
        return
      }
      byOwner[flow.owner]?.live += 1
      live += 1
      if let request = flow.request { requests[request, default: []].append(flow) }
    }

    mutating func release(_ owner: Owner) {
      byOwner[owner]?.reserved -= 1
      removeIfEmpty(owner)
    }

    mutating func removeIfEmpty(_ owner: Owner) {
      if byOwner[owner]?.isEmpty == true { byOwner[owner] = nil }
    }
  }

  private let state = Mutex(State())

  var all: [LiveFlow] { state.withLock { $0.byOwner.values.values.flatMap(\.flows.values) } }

  func flow(_ id: FlowID, of owner: Owner) -> LiveFlow? {
    state.withLock { $0.byOwner[owner]?.flows[id] }
  }

  func flows(of owner: Owner) -> [LiveFlow] {
    state.withLock { $0.byOwner[owner].map { Array($0.flows.values) } ?? [] }
  }

  /// Returns the owner's ended flows that have left a handoff secret for later flows.
  func predecessors(of owner: Owner) -> [LiveFlow] {
    state.withLock { state in
      guard let ownerFlows = state.byOwner[owner] else { return [] }
      return ownerFlows.predecessors.compactMap { ownerFlows.flows[$0] }
    }
  }

  /// Claims the handoff secret of an ended flow; only one flow gets it.
  ///
  /// - Returns: False if another flow has claimed the secret.
  func claim(_ flow: LiveFlow) -> Bool {
    state.withLock { $0.byOwner[flow.owner]?.predecessors.remove(flow.id) != nil }
  }

  /// Undoes ``claim(_:)``, because the flow that claimed the secret could not be started.
  func unclaim(_ flow: LiveFlow) {
    state.withLock { state in
      guard state.byOwner[flow.owner]?.flows[flow.id] === flow else { return }
      state.byOwner[flow.owner]?.predecessors.insert(flow.id)
    }
  }

  /// Returns the live flows with a request id at a provider, whoever owns them.
  func live(at provider: ProviderName, requestID: String) -> [LiveFlow] {
    state.withLock { $0.requests[Request(provider: provider, id: requestID)] ?? [] }
  }

  /// Returns the number of live flows of an owner, or of all owners if `owner` is nil.
  func liveCount(of owner: Owner?) -> Int {
    state.withLock { state in owner.map { state.byOwner[$0]?.live ?? 0 } ?? state.live }
  }

  func insert(_ flow: LiveFlow) { state.withLock { $0.insert(flow) } }

  /// Records that a flow has ended, just before callers see that. Does nothing for a flow that is
  /// not in the index.
  ///
  /// - Parameter leavesHandoffSecret: Whether the flow leaves a handoff secret for later flows of
  ///   the same client.
  func recordEnd(of flow: LiveFlow, leavesHandoffSecret: Bool) {
    state.withLock { state in
      guard state.byOwner[flow.owner]?.flows[flow.id] === flow else { return }
      state.byOwner[flow.owner]?.live -= 1
      state.live -= 1
      if leavesHandoffSecret { state.byOwner[flow.owner]?.predecessors.insert(flow.id) }
      guard let request = flow.request else { return }
      state.requests[request]?.removeAll { $0 === flow }
      if state.requests[request]?.isEmpty == true { state.requests[request] = nil }
    }
  }

  /// Reserves a place for a flow that is about to start. ``insertReserved(_:)`` uses the place,
  /// ``release(_:)`` returns it.
  ///
  /// Owners whose user ids belong to one user, through the subordinate ids of containers, share one
  /// limit.
  ///
  /// - Parameter users: The subordinate user ids, by which such owners are found.
  /// - Returns: False if the live flows and reservations of these owners have reached the limit.
  func reserve(
    _ owner: Owner, atMost limit: Int, _ users: SubordinateUsers = SubordinateUsers()
  ) -> Bool {
    state.withLock { state in
      let used = state.byOwner.sharing(with: owner, users).reduce(0) { $0 + $1.used }
      guard used < limit else { return false }
      state.byOwner[owner, or: OwnerFlows()].reserved += 1
      return true
    }
  }

  /// Inserts a flow for which a place was reserved, and consumes the reservation.
  func insertReserved(_ flow: LiveFlow) {
    state.withLock { state in
      state.insert(flow)
      state.release(flow.owner)
    }
  }

  func release(_ owner: Owner) { state.withLock { $0.release(owner) } }

  /// Removes a flow that has ended and whose row was deleted.
  func remove(_ flow: LiveFlow) {
    state.withLock { state in
      state.byOwner[flow.owner]?.flows[flow.id] = nil
      state.byOwner[flow.owner]?.predecessors.remove(flow.id)
      state.removeIfEmpty(flow.owner)
    }
  }
}

extension LiveFlow {
  fileprivate var request: FlowIndex.Request? {
    requestID.map { FlowIndex.Request(provider: provider, id: $0) }
  }
}

/// A reservation in the ``FlowIndex`` for a flow that is about to start; released if none uses it.
final class FlowReservation: Sendable {
  private let index: FlowIndex
  private let owner: Owner
  private let isReserved = Atomic(true)

  /// Reserves a place for one flow of the owner. Returns nil if the owner's flows and reservations
  /// have reached the limit.
  init?(
    _ index: FlowIndex, for owner: Owner, atMost limit: Int,
    _ users: SubordinateUsers = SubordinateUsers()
  ) {
    guard index.reserve(owner, atMost: limit, users) else { return nil }
    self.index = index
    self.owner = owner
  }

  deinit { release() }

  func insert(_ flow: LiveFlow) {
    if isReserved.exchange(false, ordering: .relaxed) {
      index.insertReserved(flow)
    } else {
      index.insert(flow)
    }
  }

  /// Releases the reservation. Has no effect after an earlier release or after ``insert(_:)``.
  func release() { if isReserved.exchange(false, ordering: .relaxed) { index.release(owner) } }
}
