import FoundationEssentials
import UsherCore

/// Verifies the rows of the audit log from the first to the last and collects the findings.
///
/// Checks that no row is missing, that each row decrypts and contains the hash of the previous row,
/// that the last row is the one in the head, and that there are no other rows.
struct AuditWalk {
  /// The stored head, and the rows outside of the range in the head.
  struct Surroundings {
    var head: AuditHead.Stored
    /// The numbers of the rows before the first one, in order.
    var earlier: [Int64]
    /// The numbers of the rows after the last one, in order.
    var later: [Int64]
  }

  /// The numbers of the rows that remain to be checked; nil at the end.
  private(set) var rest: ClosedRange<Int64>?
  private(set) var report: AuditReport

  private let head: AuditHead
  private let sealer: Sealer
  private let later: [Int64]
  /// The hash of the row before the next one; nil if it is unknown.
  private var before: Data?

  /// - Parameter head: The head in the daemon's memory.
  init(_ head: AuditHead, _ sealer: Sealer, _ surroundings: Surroundings) {
    self.head = head
    self.sealer = sealer
    later = surroundings.later
    before = head.before
    rest = head.first <= head.last ? head.first...head.last : nil
    report = AuditReport(kept: rest, begunAt: head.begunAt)
    for one in head.breaks { report.findings.append(one.finding) }
    note(surroundings.head)
    note(surroundings.earlier, "older than the first row of the log")
    if rest == nil { end() }
  }

  /// Processes the next stored rows; an empty array means that there are no more.
  mutating func take(_ rows: [StoredAuditRow]) {
    for row in rows { take(row) }
    if rows.isEmpty, let rest { note(gap: rest, ", and the end of the log is cut off") }
    if rows.isEmpty { rest = nil }
    if rest == nil { end() }
  }

  private mutating func take(_ row: StoredAuditRow) {
    guard let next = rest?.lowerBound, next <= row.n else { return }
    if next < row.n {
      note(gap: next...row.n - 1)
      before = nil
    }
    if row.opened(by: sealer) == nil {
      note(row.n, "row \(row.n) was altered: it cannot be decrypted")
      before = nil
    } else {
      if let before, before != row.before {
        note(row.n, "row \(row.n) does not follow the row before it")
      }
      before = row.hash
    }
    rest = row.n < head.last ? row.n + 1...head.last : nil
    if rest == nil, let before, before != head.hash {
      note(row.n, "row \(row.n) is not the last row that was written")
    }
  }

  private mutating func end() { note(later, "beyond the last row that was written") }

  private mutating func note(_ stored: AuditHead.Stored) {
    switch stored {
    case .missing: note(nil, "the log's end record is missing")
    case .unreadable: note(nil, "the log's end record was altered: it cannot be decrypted")
    case .head(head): break
    case .head: note(nil, "the log's end record is not the last one that was written")
    }
  }

  private mutating func note(gap rows: ClosedRange<Int64>, _ more: String = "") {
    let isOne = rows.count == 1
    note(
      rows.lowerBound,
      isOne
        ? "row \(rows.lowerBound) is missing\(more)"
        : "rows \(rows.lowerBound) to \(rows.upperBound) are missing\(more)")
  }

  /// Adds one finding for each run of consecutive rows.
  private mutating func note(_ numbers: [Int64], _ what: String) {
    var rest = numbers[...]
    while let first = rest.first {
      // The numbers are distinct, but not trusted: a difference may overflow, so it wraps around.
      let run = rest.enumerated().prefix { $0.element &- first == Int64($0.offset) }.count
      let last = rest[rest.startIndex + run - 1]
      rest = rest.dropFirst(run)
      note(
        first, run == 1 ? "row \(first) is \(what)" : "rows \(first) to \(last) are \(what)")
    }
  }

  private mutating func note(_ n: Int64?, _ message: String) {
    switch report.findings.count {
    case ..<AuditReport.mostFindings: report.findings.append(AuditFinding(n, message))
    case AuditReport.mostFindings:
      report.findings.append(AuditFinding(n, "there are more findings, which are not listed"))
    default: break
    }
  }
}
