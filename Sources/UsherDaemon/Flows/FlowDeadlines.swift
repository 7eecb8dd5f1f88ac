import Synchronization
import UsherCore

/// Reports flows that expire, with one timer for all of them, set to the next deadline.
///
/// A watched flow's time is measured by the monotonic clock: setting the wall clock back does not
/// extend it. If the wall clock is set forward, ``review()`` ends the flows that expire by it.
final class FlowDeadlines: Sendable {
  fileprivate struct State {
    /// A heap, the next deadline first. Ended flows stay until they come first or become too many.
    var sessions: [WatchedFlow] = []
    var watched = 0
    var timer: (at: Timestamp, timer: ScheduledTimer?)?
    var isStopped = false
    var onEnd: @Sendable (LiveFlow) -> Void = { _ in }
  }

  private let dependencies: Dependencies
  private let state = Mutex(State())

  init(_ dependencies: Dependencies) { self.dependencies = dependencies }

  /// Sets the function that receives each expired flow, once; the flow is no longer watched then.
  func onExpiry(_ body: @escaping @Sendable (LiveFlow) -> Void) {
    state.withLock { $0.onEnd = body }
  }

  /// Watches a flow; has no effect if the flow is watched already.
  func watch(_ session: LiveFlow) {
    guard session.beginWatch() else { return }
    // Limited to the flow's whole period: a flow that was stored before the clock was set back may
    // have been created in the future.
    let left = min(
      session.expiresAt - dependencies.clock.now(), session.expiresAt - session.createdAt)
    let flow = WatchedFlow(session: session, end: dependencies.clock.monotonicNow() + left)
    let isNext = state.withLock { state in
      guard !state.isStopped else { return false }
      state.sessions.push(flow)
      state.watched += 1
      return state.timer.map { flow.end < $0.at } ?? true
    }
    if isNext { setTimer() }
  }

  func unwatch(_ session: LiveFlow) {
    guard session.endWatch() else { return }
    let timer = state.withLock { state -> ScheduledTimer? in
      state.watched -= 1
      guard state.watched > 0 else { return state.clear() }
      if state.sessions.count > 2 * state.watched + 64 {
        state.sessions = state.sessions.filter(\.session.isWatched).heap
      }
      return nil
    }
    timer?.cancel()
  }

  /// Stops watching; no expiry is reported any more.
  func stop() {
    let timer = state.withLock { state in
      state.isStopped = true
      return state.clear()
    }
    timer?.cancel()
  }

  /// Reports flows that have expired although no timer has fired: the wall clock was set forward,
  /// or the machine was suspended.
  func review() {
    let (now, monotonic) = (dependencies.clock.now(), dependencies.clock.monotonicNow())
    let (over, onEnd) = state.withLock { state in
      let over = state.sessions.filter { $0.end <= monotonic || $0.session.expiresAt <= now }
      if !over.isEmpty {
        state.sessions =
          state.sessions.filter { $0.end > monotonic && $0.session.expiresAt > now }.heap
      }
      let ended = over.map(\.session).filter { $0.endWatch() }
      state.watched -= ended.count
      return (ended, state.onEnd)
    }
    guard !over.isEmpty else { return }
    for session in over { onEnd(session) }
    setTimer()
  }

  private func setTimer() {
    let (next, old) = state.withLock { state -> (Timestamp?, ScheduledTimer?) in
      let old = state.timer?.timer
      let next = state.sessions.first?.end
      state.timer = next.map { ($0, nil) }
      return (next, old)
    }
    old?.cancel()
    guard let next else { return }
    let timer = dependencies.scheduler.after(next - dependencies.clock.monotonicNow()) {
      [weak self] in
      self?.ring()
    }
    // The timer may have fired already, or another one may have been set.
    let isWanted = state.withLock { state in
      guard state.timer?.at == next, state.timer?.timer == nil else { return false }
      state.timer?.timer = timer
      return true
    }
    if !isWanted { timer.cancel() }
  }

  private func ring() {
    let now = dependencies.clock.monotonicNow()
    let (over, onEnd) = state.withLock { state in
      state.timer = nil
      var over: [LiveFlow] = []
      while let first = state.sessions.first, first.end <= now {
        state.sessions.popFirst()
        guard first.session.endWatch() else { continue }
        state.watched -= 1
        over.append(first.session)
      }
      return (over, state.onEnd)
    }
    for session in over { onEnd(session) }
    setTimer()
  }
}

extension FlowDeadlines.State {
  fileprivate mutating func clear() -> ScheduledTimer? {
    for flow in sessions { _ = flow.session.endWatch() }
    (sessions, watched) = ([], 0)
    defer { timer = nil }
    return timer?.timer
  }
}

/// A flow and its deadline on the monotonic clock.
private struct WatchedFlow {
  let session: LiveFlow
  let end: Timestamp
}

/// A binary heap ordered by deadline.
extension [WatchedFlow] {
  fileprivate var heap: [WatchedFlow] { sorted { $0.end < $1.end } }

  fileprivate mutating func push(_ flow: WatchedFlow) {
    append(flow)
    var place = count - 1
    while place > 0, self[place].end < self[(place - 1) / 2].end {
      swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  fileprivate mutating func popFirst() {
    swapAt(0, count - 1)
    removeLast()
    var place = 0
    while let next = [2 * place + 1, 2 * place + 2].filter({ $0 < count })
      .min(by: { self[$0].end < self[$1].end }), self[next].end < self[place].end
    {
      swapAt(place, next)
      place = next
    }
  }
}
