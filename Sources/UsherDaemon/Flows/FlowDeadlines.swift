import Synchronization
import UsherCore

/// Tells when a flow's time is over: one alarm for all of them, at the next deadline.
final class FlowDeadlines: Sendable {
  fileprivate struct State {
    /// A heap: who is next stands first. Flows that have ended stay until they are next, or too many.
    var sessions: [FlowSession] = []
    var watched = 0
    var alarm: (at: Timestamp, alarm: Alarm?)?
    var isStopped = false
    var onEnd: @Sendable (FlowSession) -> Void = { _ in }
  }

  private let world: World
  private let state = Mutex(State())

  init(_ world: World) { self.world = world }

  /// From now on `body` is told of each flow whose time is over, once; then nobody watches it.
  func tell(_ body: @escaping @Sendable (FlowSession) -> Void) {
    state.withLock { $0.onEnd = body }
  }

  /// Watching twice is watching once.
  func watch(_ session: FlowSession) {
    guard session.beginWatch() else { return }
    let isNext = state.withLock { state in
      guard !state.isStopped else { return false }
      state.sessions.push(session)
      state.watched += 1
      return state.alarm.map { session.expiresAt < $0.at } ?? true
    }
    if isNext { setAlarm() }
  }

  func unwatch(_ session: FlowSession) {
    guard session.endWatch() else { return }
    let alarm = state.withLock { state -> Alarm? in
      state.watched -= 1
      guard state.watched > 0 else { return state.clear() }
      if state.sessions.count > 2 * state.watched + 64 {
        state.sessions = state.sessions.filter(\.isWatched).heap
      }
      return nil
    }
    alarm?.cancel()
  }

  /// From now on nothing is told.
  func stop() {
    let alarm = state.withLock { state in
      state.isStopped = true
      return state.clear()
    }
    alarm?.cancel()
  }

  /// Tells of flows whose time is over by the clock though no alarm has gone off: it was set forward.
  func review() {
    let now = world.clock.now()
    let (isOver, alarm) = state.withLock { state -> (Bool, Alarm?) in
      guard let first = state.sessions.first, first.expiresAt <= now else { return (false, nil) }
      return (true, state.alarm?.alarm)
    }
    guard isOver else { return }
    alarm?.cancel()
    ring()
  }

  private func setAlarm() {
    let (next, old) = state.withLock { state -> (Timestamp?, Alarm?) in
      let old = state.alarm?.alarm
      let next = state.sessions.first?.expiresAt
      state.alarm = next.map { ($0, nil) }
      return (next, old)
    }
    old?.cancel()
    guard let next else { return }
    let alarm = world.alarms.after(next - world.clock.now()) { [weak self] in self?.ring() }
    // It may have rung by now, or another one been set.
    let isWanted = state.withLock { state in
      guard state.alarm?.at == next, state.alarm?.alarm == nil else { return false }
      state.alarm?.alarm = alarm
      return true
    }
    if !isWanted { alarm.cancel() }
  }

  private func ring() {
    let now = world.clock.now()
    let (over, onEnd) = state.withLock { state in
      state.alarm = nil
      var over: [FlowSession] = []
      while let first = state.sessions.first, first.expiresAt <= now {
        state.sessions.popFirst()
        guard first.endWatch() else { continue }
        state.watched -= 1
        over.append(first)
      }
      return (over, state.onEnd)
    }
    for session in over { onEnd(session) }
    setAlarm()
  }
}

extension FlowDeadlines.State {
  fileprivate mutating func clear() -> Alarm? {
    for session in sessions { _ = session.endWatch() }
    (sessions, watched) = ([], 0)
    defer { alarm = nil }
    return alarm?.alarm
  }
}

/// A binary heap by when they expire.
extension [FlowSession] {
  fileprivate var heap: [FlowSession] { sorted { $0.expiresAt < $1.expiresAt } }

  fileprivate mutating func push(_ session: FlowSession) {
    append(session)
    var place = count - 1
    while place > 0, self[place].expiresAt < self[(place - 1) / 2].expiresAt {
      swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  fileprivate mutating func popFirst() {
    swapAt(0, count - 1)
    removeLast()
    var place = 0
    while let next = [2 * place + 1, 2 * place + 2].filter({ $0 < count })
      .min(by: { self[$0].expiresAt < self[$1].expiresAt }),
      self[next].expiresAt < self[place].expiresAt
    {
      swapAt(place, next)
      place = next
    }
  }
}
