import HeapModule
import Synchronization
import UsherCore

/// Reports flows that expire, with a single timer for all of them, set to the next deadline.
///
/// The time of a watched flow is measured by the monotonic clock: setting the wall clock back does
/// not extend it. If the wall clock is set forward, ``review()`` ends the flows that expire by it.
final class FlowDeadlines: Sendable {
  fileprivate struct State {
    /// The watched flows by deadline. Entries of ended flows, and of flows that got another
    /// deadline, are removed when they come first or are too many.
    var flows = Heap<WatchedFlow>()
    var watched = 0
    var timer: (at: Timestamp, timer: ScheduledTimer?)?
    var isStopped = false
    var onEnd: @Sendable (LiveFlow) -> Void = { _ in }
  }

  private let dependencies: Dependencies
  private let state = Mutex(State())

  init(_ dependencies: Dependencies) { self.dependencies = dependencies }

  /// Sets the function that receives each expired flow, once. The flow is no longer watched then.
  func onExpiry(_ body: @escaping @Sendable (LiveFlow) -> Void) {
    state.withLock { $0.onEnd = body }
  }

  /// Watches a flow until it expires; does nothing if the flow is already watched until then.
  func watch(_ flow: LiveFlow) {
    let expiresAt = flow.expiresAt
    // Limited to the flow's whole period: a flow that was stored before the clock was set back may
    // have been created in the future.
    let left = min(expiresAt - dependencies.clock.now(), expiresAt - flow.createdAt)
    let entry = WatchedFlow(
      flow: flow, expiresAt: expiresAt, end: dependencies.clock.monotonicNow() + left)
    let isNext = state.withLock { state in
      guard !state.isStopped else { return false }
      let previous = flow.watch(until: expiresAt)
      guard previous != expiresAt else { return false }
      state.flows.insert(entry)
      if previous == nil { state.watched += 1 }
      return state.timer.map { entry.end < $0.at } ?? true
    }
    if isNext { setTimer() }
  }

  func unwatch(_ flow: LiveFlow) {
    let timer = state.withLock { state -> ScheduledTimer? in
      guard flow.watch(until: nil) != nil else { return nil }
      state.watched -= 1
      guard state.watched > 0 else { return state.clear() }
      if state.flows.count > 2 * state.watched + 64 {
        state.flows = Heap(state.flows.unordered.filter(\.isCurrent))
      }
      return nil
    }
    timer?.cancel()
  }

  /// Stops watching all flows; no expiry is reported any more.
  func stop() {
    let timer = state.withLock { state in
      state.isStopped = true
      return state.clear()
    }
    timer?.cancel()
  }

  /// Reports flows that have expired although no timer has fired, because the wall clock was set
  /// forward or the machine was suspended.
  func review() {
    let (now, monotonic) = (dependencies.clock.now(), dependencies.clock.monotonicNow())
    let (expired, onEnd) = state.withLock { state in
      let expired = state.flows.unordered.filter {
        $0.end <= monotonic || $0.expiresAt <= now
      }
      let ended = expired.filter { $0.flow.endWatch(at: $0.expiresAt) }.map(\.flow)
      state.watched -= ended.count
      if !expired.isEmpty { state.flows = Heap(state.flows.unordered.filter(\.isCurrent)) }
      return (ended, state.onEnd)
    }
    guard !expired.isEmpty else { return }
    for flow in expired { onEnd(flow) }
    setTimer()
  }

  private func setTimer() {
    let (next, old) = state.withLock { state -> (Timestamp?, ScheduledTimer?) in
      let old = state.timer?.timer
      let next = state.flows.min?.end
      state.timer = next.map { ($0, nil) }
      return (next, old)
    }
    old?.cancel()
    guard let next else { return }
    let timer = dependencies.scheduler.after(next - dependencies.clock.monotonicNow()) {
      [weak self] in
      self?.expireDueFlows()
    }
    // In the meantime the timer may have fired, or another timer may have been set.
    let isCurrent = state.withLock { state in
      guard state.timer?.at == next, state.timer?.timer == nil else { return false }
      state.timer?.timer = timer
      return true
    }
    if !isCurrent { timer.cancel() }
  }

  private func expireDueFlows() {
    let now = dependencies.clock.monotonicNow()
    let (expired, onEnd) = state.withLock { state in
      state.timer = nil
      var expired: [LiveFlow] = []
      while let first = state.flows.min, first.end <= now {
        state.flows.removeMin()
        guard first.flow.endWatch(at: first.expiresAt) else { continue }
        state.watched -= 1
        expired.append(first.flow)
      }
      return (expired, state.onEnd)
    }
    for flow in expired { onEnd(flow) }
    setTimer()
  }
}

extension FlowDeadlines.State {
  fileprivate mutating func clear() -> ScheduledTimer? {
    for entry in flows.unordered { _ = entry.flow.watch(until: nil) }
    (flows, watched) = (Heap(), 0)
    return exchange(&timer, with: nil)?.timer
  }
}

/// A flow and the time at which it expires.
private struct WatchedFlow: Comparable {
  let flow: LiveFlow
  /// The time by the wall clock.
  let expiresAt: Timestamp
  /// The time by the monotonic clock.
  let end: Timestamp

  /// Whether the flow is still watched until this time.
  var isCurrent: Bool { flow.watchedUntil == expiresAt }

  static func < (first: WatchedFlow, second: WatchedFlow) -> Bool { first.end < second.end }

  static func == (first: WatchedFlow, second: WatchedFlow) -> Bool {
    first.flow === second.flow
  }
}
