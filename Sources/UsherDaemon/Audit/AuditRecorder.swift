import Logging
import Synchronization
import UsherConfig
import UsherCore
import UsherStore

/// Destination of audit rows: in the daemon, the store's ``AuditLog``.
protocol AuditDestination: Sendable {
  func append(_ entries: [AuditEntry]) async throws(UsherError)
  func trim(to limit: Int, since cutoff: Timestamp, at now: Timestamp) async throws(UsherError)
    -> Int
}

extension AuditLog: AuditDestination {}

/// Records RPC calls in the audit log, in batches, shortly after they happen.
///
/// Recording never waits. Rows that cannot be written, for instance because no store is open,
/// accumulate. When too many have accumulated, ``admit()`` refuses calls, so that no call is served
/// without a record.
final class AuditRecorder: Sendable {
  /// How long an audit row waits so that it is written together with others.
  static let delay = Duration.milliseconds(50)
  /// The time between a failed write and the next attempt.
  static let pause = Duration.seconds(1)
  /// The maximum number of rows that one commit writes.
  fileprivate static let batch = 512
  /// The number of new rows after which the oldest rows of the log are deleted at once.
  private static let maxUntrimmed = 1024

  fileprivate struct State {
    var aggregator = AuditAggregator()
    var destination: (any AuditDestination)?
    var writing: Task<Void, Never>?
    var isTimerSet = false
    var isMinuteSet = false
    var isFailing = false
    var untrimmed = 0
  }

  let dependencies: Dependencies
  private let state = Mutex(State())

  init(dependencies: Dependencies) {
    self.dependencies = dependencies
  }

  /// Whether too many rows wait to be written.
  var isFull: Bool { state.withLock { $0.aggregator.isFull } }

  /// Checks that the next RPC call can be recorded.
  ///
  /// - Throws: `storage_unavailable` if too many rows wait to be written.
  func admit() throws(UsherError) {
    guard isFull else { return }
    throw UsherError(.storageUnavailable, "the audit log cannot be written, so the call is refused")
  }

  func record(_ event: AuditEvent, by caller: AuditedCaller) {
    let now = dependencies.clock.now()
    let due = state.withLock { state in
      state.aggregator.record(event, by: caller, at: now)
      return (row: state.setTimer(), minute: state.setMinute())
    }
    if due.row { scheduleWrite(after: Self.delay) }
    if due.minute { scheduleMinuteEnd(after: now) }
  }

  /// Records an RPC call that equals an earlier one.
  ///
  /// - Returns: False if too many rows wait to be written: the call must not be served then.
  func recordRepeat(_ call: inout AuditRepeat, at now: Timestamp) -> Bool {
    let (outcome, due) = state.withLock { state in
      let outcome = state.aggregator.recordRepeat(&call, at: now)
      // A repeated call needs no timer: the timer for the end of its minute is already set.
      guard outcome == .written else { return (outcome, (row: false, minute: false)) }
      return (outcome, (row: state.setTimer(), minute: state.setMinute()))
    }
    if due.row { scheduleWrite(after: Self.delay) }
    if due.minute { scheduleMinuteEnd(after: now) }
    return outcome != .refused
  }

  /// Starts writing to an opened store, including the rows that have accumulated.
  func open(_ destination: any AuditDestination) {
    let isDue = state.withLock { state in
      state.destination = destination
      return state.setTimer()
    }
    if isDue { scheduleWrite(after: Self.delay) }
  }

  /// Writes all rows, including the counts of this minute, and then stops until ``open(_:)`` is
  /// called again. Rows that cannot be written are kept. Called before the store is closed.
  func close() async {
    state.withLock { $0.aggregator.close() }
    await flush()
    state.withLock { $0.destination = nil }
  }

  /// Logs the number of rows that are lost when the daemon ends.
  func end() {
    let lost = state.withLock { $0.aggregator.unwritten }
    guard lost > 0 else { return }
    dependencies.log.warning(
      "rows of the audit log are lost: they could not be written", metadata: ["count": "\(lost)"])
  }

  /// Returns when all complete rows are written or have failed. The counts of this minute remain.
  func flush() async { await write().value }

  /// Deletes rows beyond the configured age or number.
  func trim() async throws(UsherError) {
    guard let destination = state.withLock({ $0.destination }) else { return }
    let setting = dependencies.config.audit
    let now = dependencies.clock.now()
    let cutoff = now - .seconds(setting.maxDays * 86_400)
    while try await destination.trim(to: setting.maxRows, since: cutoff, at: now) > 0 {}
    state.withLock { $0.untrimmed = 0 }
  }
}

// MARK: - Later

extension AuditRecorder {
  private func scheduleWrite(after delay: Duration) {
    _ = dependencies.scheduler.after(delay) { [self] in
      state.withLock { $0.isTimerSet = false }
      _ = write()
    }
  }

  private func scheduleMinuteEnd(after now: Timestamp) {
    let remaining = 60_000 - now.milliseconds % 60_000
    _ = dependencies.scheduler.after(.milliseconds(remaining)) { [self] in
      let now = dependencies.clock.now()
      let due = state.withLock { state in
        state.isMinuteSet = false
        state.aggregator.advance(to: now)
        return (row: state.setTimer(), minute: state.setMinute())
      }
      if due.row { scheduleWrite(after: Self.delay) }
      if due.minute { scheduleMinuteEnd(after: now) }
    }
  }

  /// Starts writing unless that is in progress.
  ///
  /// - Returns: The task that writes, new or already running; it ends when no row is left.
  private func write() -> Task<Void, Never> {
    state.withLock { state in
      if let writing = state.writing { return writing }
      let task = Task(executorPreference: dependencies.executor) { [self] in await writeAll() }
      state.writing = task
      return task
    }
  }

  private func writeAll() async {
    while let (entries, destination) = state.withLock({ $0.next() }) {
      do throws(UsherError) {
        var rows: [AuditEntry] = []
        for entry in entries { rows.append(try AuditEntry(entry)) }
        try await destination.append(rows)
      } catch {
        failed(error)
        return
      }
      if wrote(entries.count) { _ = try? await trim() }
    }
  }

  /// Records that rows were written.
  ///
  /// - Returns: Whether there are enough new rows to delete the oldest ones.
  private func wrote(_ count: Int) -> Bool {
    let (wasFailing, isTrimDue) = state.withLock { state in
      state.aggregator.drop(count)
      state.untrimmed += count
      defer { state.isFailing = false }
      return (state.isFailing, state.untrimmed >= Self.maxUntrimmed)
    }
    if wasFailing { dependencies.log.notice("the audit log is written again") }
    return isTrimDue
  }

  private func failed(_ error: UsherError) {
    let (wasFailing, isDue) = state.withLock { state in
      state.writing = nil
      defer { state.isFailing = true }
      return (state.isFailing, state.setTimer())
    }
    if !wasFailing {
      dependencies.log.error(
        "the audit log cannot be written", metadata: ["cause": .string(error.message)])
    }
    if isDue { scheduleWrite(after: Self.pause) }
  }
}

extension AuditRecorder.State {
  /// Returns whether the caller must set a timer for writing the rows; the timer is then recorded
  /// as set.
  fileprivate mutating func setTimer() -> Bool {
    guard destination != nil, writing == nil, !isTimerSet, !aggregator.waiting.isEmpty else {
      return false
    }
    isTimerSet = true
    return true
  }

  /// Returns whether the caller must set a timer for the end of the minute; the timer is then
  /// recorded as set.
  fileprivate mutating func setMinute() -> Bool {
    guard !isMinuteSet, aggregator.isCounting else { return false }
    isMinuteSet = true
    return true
  }

  /// Returns the next rows to write; nil if there are none, and then records that writing has
  /// ended.
  fileprivate mutating func next() -> ([AuditAggregator.Entry], any AuditDestination)? {
    guard let destination, !aggregator.waiting.isEmpty else {
      writing = nil
      return nil
    }
    return (Array(aggregator.waiting.prefix(AuditRecorder.batch)), destination)
  }
}
