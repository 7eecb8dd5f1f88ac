import FoundationEssentials
import GRDB
package import UsherCore

/// Who got what, row by row, each bound to the one before it (Audit.md § How it is kept).
///
/// Of what is in a row it knows only the time. Changes are made one after the other, each with the
/// head in one commit: after a failure, and after a kill, rows and head fit together.
package actor AuditLog {
  /// Rows that are read, or deleted, at a time: others write between.
  private static let batch = 512

  private let database: DatabaseQueue
  private let sealer: Sealer
  private let commits: GroupCommit
  private var head: AuditHead
  /// Whether it was made anew and is not on the disk yet.
  private var isAnew: Bool
  /// Whether somebody is changing the record just now, and who comes next.
  private var isBusy = false
  private var waiting: [CheckedContinuation<Void, Never>] = []
  /// Nothing is trimmed while somebody reads all of it.
  private var verifications = 0

  /// Blocks; for start-up.
  init(
    _ database: DatabaseQueue, sealer: Sealer, commits: GroupCommit, at now: Timestamp
  ) throws {
    self.database = database
    self.sealer = sealer
    self.commits = commits
    (head, isAnew) = try database.read { db in
      let head = try AuditHead.resume(from: db, sealer, at: now)
      return (head, try AuditHead.stored(in: db, sealer) != .head(head))
    }
  }

  /// Writes the rows in their order, all or none; returns once they are on disk.
  ///
  /// - Throws: `storage_unavailable`: then none of them is written, and the same call may succeed
  ///   later.
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

  /// Drops the oldest rows: those beyond a number, and those from before a moment.
  ///
  /// A few thousand at most: what is left goes the next time. Not while ``verify()`` is under way.
  /// What of them does not fit is found from then on, for as long as a row of now would be kept.
  ///
  /// - Returns: How many rows less are kept.
  @discardableResult
  package func trim(
    to most: Int, since cutoff: Timestamp, at now: Timestamp
  ) async throws(UsherError) -> Int {
    guard verifications == 0 else { return 0 }
    let first = head.first
    var trim = AuditTrim(head, sealer, to: most, since: cutoff, at: now)
    for _ in 0..<8 {
      guard let span = trim.rest else { break }
      trim.take(try await rows(of: span))
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

  /// Between which numbers all rows of these times are; nil where there are none of them.
  package func span(
    of times: ClosedRange<Timestamp>
  ) async throws(UsherError) -> ClosedRange<Int64>? {
    guard head.first <= head.last else { return nil }
    let kept = head.first...head.last
    return try await lookUp { db in
      let row = try Row.fetchOne(
        db, sql: "SELECT min(n), max(n) FROM audit WHERE at BETWEEN ? AND ? AND n BETWEEN ? AND ?",
        arguments: [
          times.lowerBound.milliseconds, times.upperBound.milliseconds, kept.lowerBound,
          kept.upperBound,
        ])
      guard let row, let first = row[0] as Int64?, let last = row[1] as Int64? else { return nil }
      return first...last
    }
  }

  /// The next rows of a span, a few hundred at most.
  package nonisolated func stretch(
    of span: ClosedRange<Int64>, at times: ClosedRange<Timestamp>
  ) async throws(UsherError) -> AuditStretch {
    let stored = try await rows(of: span)
    var stretch = AuditStretch(seen: stored.count, end: stored.last?.n)
    for row in stored where times.contains(row.at) {
      if let row = row.opened(by: sealer) {
        stretch.rows.append(row)
      } else {
        stretch.unreadable.append(row.n)
      }
    }
    return stretch
  }

  /// Looks at every row that is kept, in order, while others are written.
  ///
  /// - Throws: `storage_unavailable` where the database cannot be read, `cancelled` with the task.
  package func verify() async throws(UsherError) -> AuditReport {
    verifications += 1
    defer { verifications -= 1 }
    var walk = try await begin()
    while let span = walk.rest {
      guard !Task.isCancelled else { throw UsherError(.cancelled, "the call was cancelled") }
      walk.take(try await rows(of: span))
    }
    return walk.report
  }

  /// While nobody changes anything: the head in memory is then the one on the disk.
  private func begin() async throws(UsherError) -> AuditWalk {
    await enter()
    defer { leave() }
    var surroundings = try await surroundings(of: head)
    if isAnew { surroundings.head = .head(head) }
    return AuditWalk(head, sealer, surroundings)
  }

  private func surroundings(
    of head: AuditHead
  ) async throws(UsherError) -> AuditWalk.Surroundings {
    let (sealer, most) = (sealer, AuditReport.mostFindings)
    return try await lookUp { db in
      func numbers(_ condition: String, _ number: Int64) throws -> [Int64] {
        try Int64.fetchAll(
          db,
          sql: "SELECT n FROM audit WHERE \(condition) ORDER BY n LIMIT \(most)",
          arguments: [number])
      }
      return AuditWalk.Surroundings(
        head: try AuditHead.stored(in: db, sealer),
        earlier: try numbers("n < ?", head.first), later: try numbers("n > ?", head.last))
    }
  }

  private nonisolated func rows(
    of span: ClosedRange<Int64>
  ) async throws(UsherError) -> [StoredAuditRow] {
    try await lookUp {
      try StoredAuditRow.fetch(
        $0, "n BETWEEN ? AND ? ORDER BY n", [span.lowerBound, span.upperBound], most: Self.batch)
    }
  }

  private nonisolated func lookUp<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(UsherError) -> Value {
    do {
      // One statement on the one connection needs no isolation, and GRDB looks for one in a connection
      // that may be closed by now, which ends the process.
      return try await database.unsafeRead(body)
    } catch {
      throw .storage(error)
    }
  }
}

extension AuditLog {
  /// Makes a change of the rows and of the head; the head in memory follows when both are on disk.
  private func change(
    _ plan: (inout AuditHead) throws -> [GroupCommit.Operation]
  ) async throws(UsherError) {
    await enter()
    defer { leave() }
    var next = head
    let operations: [GroupCommit.Operation]
    do {
      operations = try plan(&next)
      guard next != head else { return }
      try await commits.commit(operations + [try next.write(by: sealer)], as: .audit)
    } catch {
      throw .storage(error)
    }
    (head, isAnew) = (next, false)
  }

  private func enter() async {
    guard isBusy else {
      isBusy = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  private func leave() {
    if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
  }
}
