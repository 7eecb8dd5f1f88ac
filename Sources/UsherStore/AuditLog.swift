import FoundationEssentials
import GRDB
package import UsherCore

/// The audit log: numbered rows, each of which contains the hash of the previous row.
///
/// The log knows only the time of a row, not its content. Changes are made one at a time. Each
/// change is one commit together with the head (number and hash of the last row), so that rows and
/// head match even after a failure or a kill.
package actor AuditLog {
  /// The maximum number of rows read at a time. Between two reads, other callers can write.
  private static let batch = 512

  private let database: DatabaseQueue
  private let blocking: any BlockingPool
  private let sealer: Sealer
  private let commits: GroupCommit
  private var head: AuditHead
  /// Whether the head (number and hash of the last row) in memory was repaired at start-up and is
  /// not in the database yet.
  private var isUnsaved: Bool
  private enum LockKey { case head }
  /// Held during a change of the log, so that the next one waits.
  private let headLock = AsyncKeyedLock<LockKey>()
  /// The number of calls of ``verify()`` in progress, during which no rows are deleted.
  private var verifications = 0

  /// Reads the head of the log from the database and repairs it if necessary. Blocks; called at
  /// start-up only.
  ///
  /// - Parameter blocking: Runs the later reads.
  init(
    _ database: DatabaseQueue, blocking: any BlockingPool, sealer: Sealer, commits: GroupCommit,
    at now: Timestamp
  ) throws {
    self.database = database
    self.blocking = blocking
    self.sealer = sealer
    self.commits = commits
    (head, isUnsaved) = try database.read { db in
      let head = try AuditHead.resume(from: db, sealer, at: now)
      return (head, try AuditHead.stored(in: db, sealer) != .head(head))
    }
  }

  /// Appends rows in the given order, all or none; returns when they are on disk.
  ///
  /// - Throws: `storage_unavailable` if nothing was written; the same call may succeed later.
  package func append(_ entries: [AuditEntry]) async throws(UsherError) {
    guard !entries.isEmpty else { return }
    let sealer = sealer
    try await change { head in
      try entries.map { entry in
        let row = try StoredAuditRow(
          ChainedRow(
            n: head.last + 1, at: entry.at, before: head.hash, payload: entry.payload),
          by: sealer)
        (head.last, head.hash) = (row.n, row.hash)
        return { try row.write(to: $0) }
      }
    }
  }

  /// Deletes the oldest rows: those that exceed the number `limit`, and those older than `cutoff`.
  ///
  /// One call deletes at most a few thousand rows; the next call continues. While ``verify()``
  /// runs, nothing is deleted. Inconsistencies among the deleted rows are recorded in the head, and
  /// stay there as long as a row that is written now is kept.
  ///
  /// - Returns: The number of deleted rows.
  @discardableResult
  package func trim(
    to limit: Int, since cutoff: Timestamp, at now: Timestamp
  ) async throws(UsherError) -> Int {
    guard verifications == 0 else { return 0 }
    let first = head.first
    var trim = AuditTrim(head, sealer, to: limit, since: cutoff, at: now)
    for _ in 0..<8 {
      guard let span = trim.remaining else { break }
      trim.process(try await rows(of: span))
    }
    let trimmed = trim.head
    guard trimmed.first > first, verifications == 0 else { return 0 }
    try await change { head in
      guard head.first == first else { return [] }
      (head.first, head.before) = (trimmed.first, trimmed.before)
      head.breaks = trimmed.breaks.filter { $0.at >= cutoff }
      return [
        {
          try $0.cachedStatement(sql: "DELETE FROM audit WHERE n >= ? AND n < ?")
            .execute(arguments: [first, trimmed.first])
        }
      ]
    }
    return Int(trimmed.first - first)
  }

  /// Returns the lowest and the highest number of the rows in a time range; nil if there are none.
  package func span(
    of times: ClosedRange<Timestamp>
  ) async throws(UsherError) -> ClosedRange<Int64>? {
    guard head.first <= head.last else { return nil }
    let span = head.first...head.last
    return try await lookUp { db in
      let row = try Row.fetchOne(
        db, sql: "SELECT min(n), max(n) FROM audit WHERE at BETWEEN ? AND ? AND n BETWEEN ? AND ?",
        arguments: [
          times.lowerBound.milliseconds, times.upperBound.milliseconds, span.lowerBound,
          span.upperBound,
        ])
      guard let row, let first = row[0] as Int64?, let last = row[1] as Int64? else { return nil }
      return first...last
    }
  }

  /// Returns the first rows of a range of numbers, at most ``batch``, without those outside of the
  /// time range.
  package nonisolated func slice(
    of span: ClosedRange<Int64>, at times: ClosedRange<Timestamp>
  ) async throws(UsherError) -> AuditSlice {
    let stored = try await rows(of: span)
    var slice = AuditSlice(scanned: stored.count, end: stored.last?.n)
    for row in stored where times.contains(row.at) {
      if let row = row.opened(by: sealer) {
        slice.rows.append(row)
      } else {
        slice.unreadable.append(row.n)
      }
    }
    return slice
  }

  /// Checks every row in order. Rows can be appended in the meantime.
  ///
  /// - Throws: `storage_unavailable` if the database cannot be read, `cancelled` if the task is
  ///   cancelled.
  package func verify() async throws(UsherError) -> AuditReport {
    verifications += 1
    defer { verifications -= 1 }
    var verifier = try await beginVerification()
    while let span = verifier.remaining {
      guard !Task.isCancelled else { throw UsherError(.cancelled, "the call was cancelled") }
      verifier.process(try await rows(of: span))
    }
    return verifier.report
  }

  /// Begins a verification while no change of the log is in progress, so that the head (number and
  /// hash of the last row) in memory belongs to the rows that the database contains.
  private func beginVerification() async throws(UsherError) -> AuditVerifier {
    try await headLock.withLock(.head) { () throws(UsherError) in
      var storedState = try await storedState(of: head)
      if isUnsaved { storedState.head = .head(head) }
      return AuditVerifier(head, sealer, storedState)
    }
  }

  private func storedState(
    of head: AuditHead
  ) async throws(UsherError) -> AuditVerifier.StoredState {
    let (sealer, limit) = (sealer, AuditReport.maxFindings)
    return try await lookUp { db in
      func numbers(_ condition: String, _ number: Int64) throws -> [Int64] {
        try Int64.fetchAll(
          db,
          sql: "SELECT n FROM audit WHERE \(condition) ORDER BY n LIMIT \(limit)",
          arguments: [number])
      }
      return AuditVerifier.StoredState(
        head: try AuditHead.stored(in: db, sealer),
        earlier: try numbers("n < ?", head.first), later: try numbers("n > ?", head.last))
    }
  }

  private nonisolated func rows(
    of span: ClosedRange<Int64>
  ) async throws(UsherError) -> [StoredAuditRow] {
    try await lookUp {
      try StoredAuditRow.fetch(
        $0, "n BETWEEN ? AND ? ORDER BY n", [span.lowerBound, span.upperBound], limit: Self.batch)
    }
  }

  private nonisolated func lookUp<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(UsherError) -> Value {
    do {
      // A single statement needs no isolation. GRDB's isolated read would crash the process if the
      // connection has been closed in the meantime.
      return try await blocking.run { [database] in try database.unsafeRead(body) }
    } catch {
      throw .storage(error)
    }
  }
}

extension AuditLog {
  /// Commits a change of the rows together with the new head, and then updates the head in memory.
  private func change(
    _ plan: (inout AuditHead) throws -> [GroupCommit.Operation]
  ) async throws(UsherError) {
    try await headLock.withLock(.head) { () throws(UsherError) in
      var next = head
      do {
        let operations = try plan(&next)
        guard next != head else { return }
        try await commits.commit(operations + [try next.write(by: sealer)], as: .audit)
      } catch {
        throw .storage(error)
      }
      (head, isUnsaved) = (next, false)
    }
  }
}
