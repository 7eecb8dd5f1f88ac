import FoundationEssentials
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

// Operations on all flows, or on all flows of one owner: restore, resume, pause, forget and sweep.
extension FlowEngine {
  /// Loads the flows from the store without resuming them.
  ///
  /// A flow of a kind that this version does not know stays on disk unchanged, so that a later
  /// version can read it; the other flows are loaded.
  ///
  /// - Parameter reportProgress: Called from time to time, so that the caller can tell
  ///   systemd that the start proceeds.
  /// - Returns: The flows that could not be read, each with the reason.
  /// - Throws: `storageUnavailable`, for example if a row fails to decrypt.
  func restore(
    _ reportProgress: () -> Void = {}
  ) async throws(UsherError) -> [(flow: FlowID, error: UsherError)] {
    try await repository.restore(reportProgress) { index.insert($0) }
  }

  /// Resumes every unfinished flow in the background; returns at once. At most `maxResuming` flows
  /// resume at the same time, which bounds memory. An event or call for a flow that is still queued
  /// resumes that flow first.
  ///
  /// - Parameter isExcluded: Whether an owner's flows are not resumed; only their deadlines are
  ///   watched.
  func resumeAll(except isExcluded: @escaping @Sendable (Owner) -> Bool = { _ in false }) {
    let unfinished = index.all.filter { !$0.isFinished }
    for flow in unfinished { deadlines.watch(flow) }
    let flows = unfinished.filter { !isExcluded($0.owner) }
    Task(executorPreference: dependencies.executor) { [self] in
      await withTaskGroup(of: Void.self) { group in
        for (number, flow) in flows.enumerated() {
          if number >= Self.maxResuming { _ = await group.next() }
          group.addTask { await self.resumeOnce(flow) }
        }
      }
    }
  }

  private static let maxResuming = 64

  /// Closes all redirect listeners and cancels all timers. The flows continue from disk at the next
  /// start.
  func pauseAll() {
    stop()
    for flow in index.all { pause(flow) }
  }

  /// Closes the redirect listeners and cancels the timers of one owner's flows.
  func pause(_ owner: Owner) {
    for flow in index.flows(of: owner) where !flow.isFinished { pause(flow) }
  }

  private func pause(_ flow: LiveFlow) {
    flow.setTimer(nil)
    effects.releaseResources(of: flow)
  }

  /// Resumes the unfinished flows of one owner, as after a start of the daemon.
  func resume(_ owner: Owner) async {
    for flow in index.flows(of: owner) where !flow.isFinished {
      if flow.isToResume { await resumeOnce(flow) } else { resume(flow) }
    }
  }

  func resume(_ flow: LiveFlow) {
    deadlines.watch(flow)
    deliver(.event(.daemon(.resumed)), to: flow)
  }

  /// Cancels the flows of one owner, and deletes them and the owner's remembered request ids.
  ///
  /// - Returns: The number of deleted flows.
  func deleteFlows(of owner: Owner) async throws(UsherError) -> Int {
    let flows = index.flows(of: owner)
    for flow in flows where !flow.isFinished { _ = try await cancel(flow.id, owner: owner) }
    try await store.commit(flows.map { .deleteFlow($0.id) } + [.forgetAllRequests(of: owner)])
    for flow in flows { index.remove(flow) }
    return flows.count
  }

  /// Deletes finished flows beyond the configured age or number per user, and expired request ids.
  /// Ends flows that expired because the wall clock was set forward or the machine was suspended.
  func sweep() async throws(UsherError) {
    deadlines.review()
    let now = dependencies.clock.now()
    let limits = dependencies.config.limits
    let retention = Duration.seconds(limits.finishedFlowHours * 3600)
    let finished = index.all.filter(\.isFinished)
    var old = finished.filter { $0.updatedAt + retention <= now }
    let users = dependencies.subordinates.current
    for (_, flows) in Dictionary(grouping: finished, by: { $0.owner.limitHolder(users) })
    where flows.count > limits.finishedFlowsPerUser {
      let newest = flows.sorted { $0.updatedAt > $1.updatedAt }
      old += newest.dropFirst(limits.finishedFlowsPerUser).filter { $0.updatedAt + retention > now }
    }
    try await store.commit(old.map { .deleteFlow($0.id) } + [.forgetRequests(expiredBy: now)])
    for flow in old { index.remove(flow) }
  }
}
