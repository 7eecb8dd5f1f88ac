import FoundationEssentials
import UsherCore

/// Verifies the rows of the audit log from the first to the last and collects the findings.
///
/// Checks that no row is missing, that each row decrypts and contains the hash of the previous row,
/// that the last row is the one that the head names, and that there are no other rows.
struct AuditVerifier {
  /// What the database contains in addition to the rows of the log: the stored head, and the
  /// numbers of rows outside of the range that the head in memory names.
  struct StoredState {
    var head: AuditHead.Stored
    /// The numbers of stored rows that are lower than the number of the log's first row, in order.
    var earlier: [Int64]
    /// The numbers of stored rows that are higher than the number of the log's last row, in order.
    var later: [Int64]
  }

  /// The numbers of the rows that remain to be checked; nil when all are checked.
  private(set) var remaining: ClosedRange<Int64>?
  private(set) var report: AuditReport

  private let head: AuditHead
  private let sealer: Sealer
  private let later: [Int64]
  /// The hash of the row before the next row to check; nil if it is unknown.
  private var before: Data?

  /// Creates a verifier and adds the findings about the stored head and about rows before the log's
  /// first.
  ///
  /// - Parameter head: The head in the daemon's memory.
  init(_ head: AuditHead, _ sealer: Sealer, _ storedState: StoredState) {
    self.head = head
    self.sealer = sealer
    later = storedState.later
    before = head.before
    remaining = head.first <= head.last ? head.first...head.last : nil
    report = AuditReport(rows: remaining, begunAt: head.begunAt)
    for one in head.breaks { report.findings.append(one.finding) }
    addFinding(storedState.head)
    addFinding(storedState.earlier, "older than the first row of the log")
    if remaining == nil { end() }
  }

  /// Processes the next stored rows; an empty array means that there are no more rows.
  mutating func process(_ rows: [StoredAuditRow]) {
    for row in rows { process(row) }
    if rows.isEmpty, let remaining {
      addFinding(gap: remaining, ", and the end of the log is cut off")
    }
    if rows.isEmpty { remaining = nil }
    if remaining == nil { end() }
  }

  private mutating func process(_ row: StoredAuditRow) {
    guard let next = remaining?.lowerBound, next <= row.n else { return }
    if next < row.n {
      addFinding(gap: next...row.n - 1)
      before = nil
    }
    if row.opened(by: sealer) == nil {
      addFinding(row.n, "row \(row.n) was altered: it cannot be decrypted")
      before = nil
    } else {
      if let before, before != row.before {
        addFinding(row.n, "row \(row.n) does not follow the row before it")
      }
      before = row.hash
    }
    remaining = row.n < head.last ? row.n + 1...head.last : nil
    if remaining == nil, let before, before != head.hash {
      addFinding(row.n, "row \(row.n) is not the last row that was written")
    }
  }

  private mutating func end() { addFinding(later, "beyond the last row that was written") }

  private mutating func addFinding(_ stored: AuditHead.Stored) {
    switch stored {
    case .missing: addFinding(nil, "the log's end record is missing")
    case .unreadable: addFinding(nil, "the log's end record was altered: it cannot be decrypted")
    case .head(head): break
    case .head: addFinding(nil, "the log's end record is not the last one that was written")
    }
  }

  private mutating func addFinding(gap rows: ClosedRange<Int64>, _ more: String = "") {
    let isOne = rows.count == 1
    addFinding(
      rows.lowerBound,
      isOne
        ? "row \(rows.lowerBound) is missing\(more)"
        : "rows \(rows.lowerBound) to \(rows.upperBound) are missing\(more)")
  }

  /// Adds one finding for each run of consecutive row numbers.
  private mutating func addFinding(_ numbers: [Int64], _ what: String) {
    var remaining = numbers[...]
    while let first = remaining.first {
      // The numbers are distinct, but come from a file that may have been manipulated: a difference
      // may overflow, so the subtraction wraps around.
      let run = remaining.enumerated().prefix { $0.element &- first == Int64($0.offset) }.count
      let last = remaining[remaining.startIndex + run - 1]
      remaining = remaining.dropFirst(run)
      addFinding(
        first, run == 1 ? "row \(first) is \(what)" : "rows \(first) to \(last) are \(what)")
    }
  }

  private mutating func addFinding(_ n: Int64?, _ message: String) {
    switch report.findings.count {
    case ..<AuditReport.maxFindings: report.findings.append(AuditFinding(n, message))
    case AuditReport.maxFindings:
      report.findings.append(AuditFinding(n, "there are more findings, which are not listed"))
    default: break
    }
  }
}
