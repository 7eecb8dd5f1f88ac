import FoundationEssentials
import UsherCore

/// Reads the oldest rows of the audit log and decides which ones to delete.
///
/// The time of a row can be trusted only if the row decrypts. So a missing, altered or foreign row
/// is deleted together with the old rows after it. The head then records a break, so that no
/// manipulation is forgotten with the rows.
struct AuditTrim {
  /// The audit log's head as it will be after the deletion.
  private(set) var head: AuditHead
  /// The numbers of the rows that remain to be read; nil if no further row has to be read.
  private(set) var remaining: ClosedRange<Int64>?

  private let sealer: Sealer
  private let cutoff: Timestamp
  private let now: Timestamp
  /// The number of the first row within the permitted number of rows. Earlier rows are deleted
  /// whatever their age.
  private let firstKept: Int64
  private var next: Int64
  /// The hash of the audit row before `next`; nil if it is unknown.
  private var before: Data?
  /// The breaks among the rows that may or may not be deleted, depending on a later row.
  private var damage: [AuditHead.Break] = []

  init(
    _ head: AuditHead, _ sealer: Sealer, to limit: Int, since cutoff: Timestamp, at now: Timestamp
  ) {
    self.head = head
    self.sealer = sealer
    self.cutoff = cutoff
    self.now = now
    firstKept = head.last - Int64(limit) + 1
    next = head.first
    before = head.before
    remaining = head.first <= head.last ? head.first...head.last : nil
  }

  /// Processes the next stored rows; an empty array means that there are no more rows.
  mutating func process(_ rows: [StoredAuditRow]) {
    for row in rows where remaining != nil { process(row) }
    guard rows.isEmpty, remaining != nil else { return }
    skip(to: head.last + 1)
    remaining = nil
  }

  private mutating func process(_ row: StoredAuditRow) {
    skip(to: row.n)
    let isReadable = row.opened(by: sealer) != nil
    // The time of a row that does not decrypt is unknown, so a later row decides whether it is
    // deleted.
    guard !isReadable || row.n < firstKept || row.at < cutoff else {
      remaining = nil
      return
    }
    if !isReadable {
      recordBreak(.altered, row.n...row.n)
    } else if !continuesChain(row) {
      recordBreak(.stray, row.n...row.n)
    }
    before = isReadable ? row.hash : nil
    advance(to: row.n + 1, isReadable || row.n < firstKept)
  }

  private func continuesChain(_ row: StoredAuditRow) -> Bool {
    (before == nil || before == row.before) && (row.n < head.last || row.hash == head.hash)
  }

  /// Records that the rows from `next` up to `end` are missing.
  private mutating func skip(to end: Int64) {
    let bound = min(firstKept, end)
    if next < bound { skip(next...bound - 1, isDeleted: true) }
    if next < end { skip(next...end - 1, isDeleted: false) }
  }

  private mutating func skip(_ rows: ClosedRange<Int64>, isDeleted: Bool) {
    recordBreak(.gone, rows)
    before = nil
    advance(to: rows.upperBound + 1, isDeleted)
  }

  /// Continues at row `n`.
  ///
  /// - Parameter isDeleted: Whether all rows before `n` are deleted.
  private mutating func advance(to n: Int64, _ isDeleted: Bool) {
    next = n
    remaining = n <= head.last ? n...head.last : nil
    guard isDeleted else { return }
    for one in damage { head.record(one) }
    damage = []
    head.first = n
    head.before = n > head.last ? head.hash : before
  }

  private mutating func recordBreak(_ what: AuditHead.Break.What, _ rows: ClosedRange<Int64>) {
    let one = AuditHead.Break(at: now, first: rows.lowerBound, last: rows.upperBound, what: what)
    guard let merged = damage.last?.merged(one) else { return damage.append(one) }
    damage[damage.count - 1] = merged
  }
}
