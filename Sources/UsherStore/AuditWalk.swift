import FoundationEssentials
import UsherCore

/// Goes from the first row of the audit to the last, and says what does not fit.
///
/// Row by row: each is where it should be, opens, and follows the one before it; the last is the one
/// that the head knows; and there is none beside them.
struct AuditWalk {
  /// What there is beside the rows that the head speaks of.
  struct Surroundings {
    var head: AuditHead.Stored
    /// Numbers of rows before the first and after the last, in order.
    var earlier: [Int64]
    var later: [Int64]
  }

  /// The numbers of the rows that are still to be looked at; nil at the end.
  private(set) var rest: ClosedRange<Int64>?
  private(set) var report: AuditReport

  private let head: AuditHead
  private let sealer: Sealer
  private let later: [Int64]
  /// The hash of the row before the next; nil where that row is not known.
  private var before: Data?

  /// - Parameter head: As the daemon remembers it.
  init(_ head: AuditHead, _ sealer: Sealer, _ surroundings: Surroundings) {
    self.head = head
    self.sealer = sealer
    later = surroundings.later
    before = head.before
    rest = head.first <= head.last ? head.first...head.last : nil
    report = AuditReport(kept: rest, begunAt: head.begunAt)
    for one in head.breaks { report.findings.append(one.finding) }
    note(surroundings.head)
    note(surroundings.earlier, "older than the first that is kept")
    if rest == nil { end() }
  }

  /// Takes the next rows that are there; none where there are no more.
  mutating func take(_ rows: [StoredAuditRow]) {
    for row in rows { take(row) }
    if rows.isEmpty, let rest { note(gap: rest, ", and the end is cut off") }
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
      note(row.n, "row \(row.n) was altered: it does not open")
      before = nil
    } else {
      if let before, before != row.before {
        note(row.n, "row \(row.n) does not follow the row before it")
      }
      before = row.hash
    }
    rest = row.n < head.last ? row.n + 1...head.last : nil
    if rest == nil, let before, before != head.hash {
      note(row.n, "row \(row.n) is not the one that was written last")
    }
  }

  private mutating func end() { note(later, "beyond the last that was written") }

  private mutating func note(_ stored: AuditHead.Stored) {
    switch stored {
    case .missing: note(nil, "the head is gone")
    case .unreadable: note(nil, "the head was altered: it does not open")
    case .head(head): break
    case .head: note(nil, "the head is not the one that was written last")
    }
  }

  private mutating func note(gap rows: ClosedRange<Int64>, _ more: String = "") {
    let isOne = rows.count == 1
    note(
      rows.lowerBound,
      isOne
        ? "row \(rows.lowerBound) is gone\(more)"
        : "rows \(rows.lowerBound) to \(rows.upperBound) are gone\(more)")
  }

  /// One sentence for rows that follow one another.
  private mutating func note(_ numbers: [Int64], _ what: String) {
    var rest = numbers[...]
    while let first = rest.first {
      // They differ, and the highest may be the highest there is: the difference wraps around.
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
      report.findings.append(AuditFinding(n, "there is more that does not fit, from here on"))
    default: break
    }
  }
}
