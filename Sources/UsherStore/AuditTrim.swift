import FoundationEssentials
import UsherCore

/// Goes along the oldest rows of the audit and decides which of them go.
///
/// A row is as old as it says once it opens. What does not fit goes with the old rows after it, and
/// is told of by the head from then on: nothing that was done to the rows goes unsaid.
struct AuditTrim {
  /// As it is without the rows that go.
  private(set) var head: AuditHead
  /// The rows that may still be looked at; nil at the end.
  private(set) var rest: ClosedRange<Int64>?

  private let sealer: Sealer
  private let cutoff: Timestamp
  private let now: Timestamp
  /// The rows before it are too many: they go whatever their age.
  private let kept: Int64
  private var next: Int64
  /// The hash of the row before the next; nil where that row is not known.
  private var before: Data?
  /// What does not fit, from the first row on that is not known to go.
  private var damage: [AuditHead.Break] = []

  init(
    _ head: AuditHead, _ sealer: Sealer, to most: Int, since cutoff: Timestamp, at now: Timestamp
  ) {
    self.head = head
    self.sealer = sealer
    self.cutoff = cutoff
    self.now = now
    kept = head.last - Int64(most) + 1
    next = head.first
    before = head.before
    rest = head.first <= head.last ? head.first...head.last : nil
  }

  /// Takes the next rows that are there; none where there are no more.
  mutating func take(_ rows: [StoredAuditRow]) {
    for row in rows where rest != nil { take(row) }
    guard rows.isEmpty, rest != nil else { return }
    skip(to: head.last + 1)
    rest = nil
  }

  private mutating func take(_ row: StoredAuditRow) {
    skip(to: row.n)
    let isWhole = row.opened(by: sealer) != nil
    // Of one that does not open nobody knows how old it is: that is for the rows after it to say.
    guard !isWhole || row.n < kept || row.at < cutoff else {
      rest = nil
      return
    }
    if !isWhole {
      note(.altered, row.n...row.n)
    } else if !follows(row) {
      note(.stray, row.n...row.n)
    }
    before = isWhole ? row.hash : nil
    advance(to: row.n + 1, isWhole || row.n < kept)
  }

  private func follows(_ row: StoredAuditRow) -> Bool {
    (before == nil || before == row.before) && (row.n < head.last || row.hash == head.hash)
  }

  /// Over rows that are gone.
  private mutating func skip(to end: Int64) {
    let bound = min(kept, end)
    if next < bound { skip(next...bound - 1, isGoing: true) }
    if next < end { skip(next...end - 1, isGoing: false) }
  }

  private mutating func skip(_ rows: ClosedRange<Int64>, isGoing: Bool) {
    note(.gone, rows)
    before = nil
    advance(to: rows.upperBound + 1, isGoing)
  }

  /// - Parameter isGoing: Whether all before it go.
  private mutating func advance(to n: Int64, _ isGoing: Bool) {
    next = n
    rest = n <= head.last ? n...head.last : nil
    guard isGoing else { return }
    for one in damage { head.note(one) }
    damage = []
    head.first = n
    head.before = n > head.last ? head.hash : before
  }

  private mutating func note(_ what: AuditHead.Break.What, _ rows: ClosedRange<Int64>) {
    let one = AuditHead.Break(at: now, first: rows.lowerBound, last: rows.upperBound, what: what)
    guard let joined = damage.last?.joined(one) else { return damage.append(one) }
    damage[damage.count - 1] = joined
  }
}
