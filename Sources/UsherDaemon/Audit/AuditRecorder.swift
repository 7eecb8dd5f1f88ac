import Logging
import Synchronization
import UsherConfig
import UsherCore
import UsherStore

/// Where the rows of the audit go: the store's ``AuditLog``.
protocol AuditKeeping: Sendable {
  func append(_ entries: [AuditEntry]) async throws(UsherError)
  func trim(to most: Int, since cutoff: Timestamp, at now: Timestamp) async throws(UsherError)
    -> Int
}

extension AuditLog: AuditKeeping {}
extension AuditRecorder: Auditing {}

/// Takes down who got what, and writes it a moment later.
///
/// Noting a call never waits. What cannot be written gathers, also while there is no store; when too
/// much has gathered ``admit()`` refuses, so that nothing is handed out unrecorded.
final class AuditRecorder: Sendable {
  /// How long a row waits for others to be written with.
  static let delay = Duration.milliseconds(50)
  /// How long after a failure it is tried again.
  static let pause = Duration.seconds(1)
  /// Rows of one commit.
  fileprivate static let batch = 512
  /// Rows after which the oldest are dropped before the next minute.
  private static let mostUntrimmed = 1024

  fileprivate struct State {
    var aggregator = AuditAggregator()
    var keeper: (any AuditKeeping)?
    /// The one that writes just now, if anybody does.
    var writing: Task<Void, Never>?
    var isTimerSet = false
    var isMinuteSet = false
    var isFailing = false
    var untrimmed = 0
  }

  private let dependencies: Dependencies
  private let log: Logger
  private let state = Mutex(State())

  init(dependencies: Dependencies, log: Logger) {
    self.dependencies = dependencies
    self.log = log
  }

  /// Whether too much waits to be written.
  var isFull: Bool { state.withLock { $0.aggregator.isFull } }

  /// - Throws: `storage_unavailable` while what would be handed out cannot be recorded.
  func admit() throws(UsherError) {
    guard isFull else { return }
    throw UsherError(
      .storageUnavailable, "the audit cannot be written, and nothing is done unrecorded")
  }

  func note(_ note: AuditEvent, by caller: AuditedCaller) {
    let now = dependencies.clock.now()
    let due = state.withLock { state in
      state.aggregator.note(note, by: caller, at: now)
      return (row: state.setTimer(), minute: state.setMinute())
    }
    if due.row { ring(after: Self.delay) }
    if due.minute { ringAtMinute(after: now) }
  }

  /// The same for a call that has been noted before.
  ///
  /// - Returns: False where too much waits to be written: then it must not be served, as
  ///   ``admit()`` has it.
  func again(_ call: inout AuditRepeat, at now: Timestamp) -> Bool {
    let (outcome, due) = state.withLock { state in
      let outcome = state.aggregator.again(&call, at: now)
      // What is counted only has its timer since the minute began.
      guard outcome == .written else { return (outcome, (row: false, minute: false)) }
      return (outcome, (row: state.setTimer(), minute: state.setMinute()))
    }
    if due.row { ring(after: Self.delay) }
    if due.minute { ringAtMinute(after: now) }
    return outcome != .refused
  }

  /// Begins to write, also what has gathered.
  func open(_ keeper: any AuditKeeping) {
    let isDue = state.withLock { state in
      state.keeper = keeper
      return state.setTimer()
    }
    if isDue { ring(after: Self.delay) }
  }

  /// Writes what there is, counts too, and nothing more until it is opened again. What cannot be
  /// written is kept.
  func close() async {
    state.withLock { $0.aggregator.close() }
    await flush()
    state.withLock { $0.keeper = nil }
  }

  /// Says how many rows nobody will write any more; for the end of the daemon.
  func end() {
    let lost = state.withLock { $0.aggregator.unwritten }
    guard lost > 0 else { return }
    log.warning(
      "rows of the audit are lost: they could not be written", metadata: ["count": "\(lost)"])
  }

  /// Returns when what was noted before is written, or cannot be. What the minute counts stays.
  func flush() async { await write().value }

  /// Drops what is older or more than is to be kept.
  func trim() async throws(UsherError) {
    guard let keeper = state.withLock({ $0.keeper }) else { return }
    let setting = dependencies.config.audit
    let now = dependencies.clock.now()
    let cutoff = now - .seconds(setting.maxDays * 86_400)
    while try await keeper.trim(to: setting.maxRows, since: cutoff, at: now) > 0 {}
    state.withLock { $0.untrimmed = 0 }
  }
}

// MARK: - Later

extension AuditRecorder {
  private func ring(after delay: Duration) {
    _ = dependencies.scheduler.after(delay) { [self] in
      state.withLock { $0.isTimerSet = false }
      _ = write()
    }
  }

  private func ringAtMinute(after now: Timestamp) {
    let rest = 60_000 - now.milliseconds % 60_000
    _ = dependencies.scheduler.after(.milliseconds(rest)) { [self] in
      let now = dependencies.clock.now()
      let due = state.withLock { state in
        state.isMinuteSet = false
        state.aggregator.turn(at: now)
        return (row: state.setTimer(), minute: state.setMinute())
      }
      if due.row { ring(after: Self.delay) }
      if due.minute { ringAtMinute(after: now) }
    }
  }

  /// - Returns: Who writes, from now on or already; it ends when nothing waits any more.
  private func write() -> Task<Void, Never> {
    state.withLock { state in
      if let writing = state.writing { return writing }
      let task = Task(executorPreference: dependencies.executor) { [self] in await writeAll() }
      state.writing = task
      return task
    }
  }

  private func writeAll() async {
    while let (entries, keeper) = state.withLock({ $0.next() }) {
      do throws(UsherError) {
        var rows: [AuditEntry] = []
        for entry in entries { rows.append(try AuditEntry(entry)) }
        try await keeper.append(rows)
      } catch {
        failed(error)
        return
      }
      if wrote(entries.count) { _ = try? await trim() }
    }
  }

  /// - Returns: Whether there is enough to trim; a failure of that is told once a minute.
  private func wrote(_ count: Int) -> Bool {
    let (wasFailing, isMuch) = state.withLock { state in
      state.aggregator.drop(count)
      state.untrimmed += count
      defer { state.isFailing = false }
      return (state.isFailing, state.untrimmed >= Self.mostUntrimmed)
    }
    if wasFailing { log.notice("the audit is written again") }
    return isMuch
  }

  private func failed(_ error: UsherError) {
    let (wasFailing, isDue) = state.withLock { state in
      state.writing = nil
      defer { state.isFailing = true }
      return (state.isFailing, state.setTimer())
    }
    if !wasFailing {
      log.error("the audit cannot be written", metadata: ["cause": .string(error.message)])
    }
    if isDue { ring(after: Self.pause) }
  }
}

extension AuditRecorder.State {
  /// Whether a timer is to be set, so that what waits is written; it counts as set then.
  fileprivate mutating func setTimer() -> Bool {
    guard keeper != nil, writing == nil, !isTimerSet, !aggregator.waiting.isEmpty else {
      return false
    }
    isTimerSet = true
    return true
  }

  /// Whether a timer is to be set for the end of the minute; it counts as set then.
  fileprivate mutating func setMinute() -> Bool {
    guard !isMinuteSet, aggregator.isCounting else { return false }
    isMinuteSet = true
    return true
  }

  /// What is written next; with nil the writing ends.
  fileprivate mutating func next() -> ([AuditAggregator.Entry], any AuditKeeping)? {
    guard let keeper, !aggregator.waiting.isEmpty else {
      writing = nil
      return nil
    }
    return (Array(aggregator.waiting.prefix(AuditRecorder.batch)), keeper)
  }
}
