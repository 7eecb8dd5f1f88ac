import FoundationEssentials
import GRDB
import UsherCore

/// The first and last row of the audit log, with their hashes. Stored as a sealed note
/// (``NoteRow``), which every change of the log writes in the same commit.
///
/// The head is created together with the tables. If it is missing, something other than usherd
/// removed it.
struct AuditHead: Sendable, Equatable, Codable {
  /// The name of the note (``NoteRow``) that contains the head of the audit log.
  static let name = "audit.head"
  /// The value that takes the place of the previous row's hash in the first row.
  static let origin = Data(count: 32)
  private static let maxBreaks = 16

  /// The number of the first row that is kept; ``last`` plus one if the log has no rows.
  var first: Int64 = 1
  /// The hash of the row before the row ``first``; nil if it is unknown.
  var before: Data? = Self.origin
  var last: Int64 = 0
  /// The hash of the row whose number is ``last``.
  var hash = Self.origin
  /// The time at which the log was created, or rebuilt because the head was missing.
  var begunAt: Timestamp
  /// The inconsistencies that are no longer visible in the log itself: the times at which the
  /// stored head could not be used, and inconsistencies among rows that were deleted since. The
  /// newest is last.
  var breaks: [Break] = []

  struct Break: Sendable, Equatable, Codable {
    var at: Timestamp
    /// The number of the first row concerned; nil if the inconsistency is in the stored head
    /// itself.
    var first: Int64?
    /// The number of the last row concerned; for an inconsistency in the stored head itself, the
    /// number of the log's last row at that time.
    var last: Int64
    var what: What

    enum What: String, Sendable, Codable {
      // Inconsistencies that concern the head itself.
      case missing, unreadable, behind
      // Breaks among rows that were later deleted as the oldest ones.
      case gone, altered, stray
    }

    /// Returns a single break for both if `other` is of the same kind and its rows follow directly;
    /// otherwise nil.
    func merged(_ other: Break) -> Break? {
      guard first != nil, let next = other.first, next == last + 1, what == other.what else {
        return nil
      }
      return Break(at: other.at, first: first, last: other.last, what: what)
    }
  }

  mutating func record(_ what: Break.What, at now: Timestamp) {
    record(Break(at: now, last: last, what: what))
  }

  mutating func record(_ one: Break) {
    if let merged = breaks.last?.merged(one) {
      breaks[breaks.count - 1] = merged
    } else {
      breaks.append(one)
    }
    breaks.removeFirst(max(0, breaks.count - Self.maxBreaks))
  }

  func write(by sealer: Sealer) throws -> GroupCommit.Operation {
    try NoteRow(name: Self.name, payload: SealedPayload(encoding: self)).upsert(by: sealer)
  }
}

extension AuditHead {
  /// The result of reading the head of the audit log from the database.
  enum Stored: Equatable {
    case head(AuditHead)
    case missing
    /// The note that contains the head failed to decrypt or to decode.
    case unreadable
  }

  static func stored(in db: Database, _ sealer: Sealer) throws -> Stored {
    let sealed = try Data.fetchOne(
      db.cachedStatement(sql: "SELECT sealed FROM notes WHERE name = ?"), arguments: [name])
    guard let sealed else { return .missing }
    let row = NoteRow(name: name, payload: SealedPayload([]))
    guard let row = try? sealer.open(sealed, into: row),
      let head = try? row.payload.decoded(as: AuditHead.self)
    else { return .unreadable }
    return .head(head)
  }

  /// Returns the head with which the daemon continues the log at start-up.
  ///
  /// A removed or altered head is rebuilt from the rows, and an older head is advanced to the last
  /// row. The new head records that as a break, so that the daemon can continue and
  /// ``AuditLog/verify()`` still reports the manipulation.
  static func resume(
    from db: Database, _ sealer: Sealer, at now: Timestamp
  ) throws -> AuditHead {
    switch try stored(in: db, sealer) {
    case .head(var head):
      let last = head.last
      try head.advance(over: db, sealer)
      if head.last > last { head.record(.behind, at: now) }
      return head
    case .missing: return try rebuilt(of: db, sealer, at: now, cause: .missing)
    case .unreadable: return try rebuilt(of: db, sealer, at: now, cause: .unreadable)
    }
  }

  /// Advances the head over all rows that follow its last row with a correct hash.
  private mutating func advance(over db: Database, _ sealer: Sealer) throws {
    while let row = try StoredAuditRow.fetch(db, "n = ?", [last + 1], limit: 1).first {
      guard row.before == hash, row.opened(by: sealer) != nil else { return }
      (last, hash) = (row.n, row.hash)
    }
  }

  /// Returns a new head that covers the rows from the first to the last one that decrypts, and
  /// records why it was rebuilt.
  private static func rebuilt(
    of db: Database, _ sealer: Sealer, at now: Timestamp, cause: Break.What
  ) throws -> AuditHead {
    var head = AuditHead(begunAt: now)
    func find(_ order: String) throws -> StoredAuditRow? {
      try StoredAuditRow.fetch(db, "n > 0 ORDER BY n \(order)", [], limit: maxCandidates)
        .first { $0.opened(by: sealer) != nil }
    }
    if let first = try find("ASC"), let last = try find("DESC") {
      head.first = first.n
      head.before = first.n == 1 ? origin : nil
      (head.last, head.hash) = (last.n, last.hash)
    }
    head.record(cause, at: now)
    return head
  }

  /// The maximum number of rows that are tried at either end of the log, in case something other
  /// than usherd added rows there.
  private static let maxCandidates = 4096
}

extension AuditHead.Break {
  var finding: AuditFinding {
    switch what {
    case .missing:
      AuditFinding(
        nil,
        "the log's end record was missing at \(at); rebuilt from the rows up to \(last)")
    case .unreadable:
      AuditFinding(
        nil,
        "the log's end record could not be decrypted at \(at); rebuilt from the rows up to "
          + "\(last)")
    case .behind:
      AuditFinding(
        nil, "an older end record of the log was found at \(at); it was continued to row \(last)")
    case .gone: dropped("missing")
    case .altered: dropped("altered")
    case .stray: dropped("not the one written there")
    }
  }

  private func dropped(_ how: String) -> AuditFinding {
    let first = first ?? last
    let rows = first == last ? "row \(last) was" : "rows \(first) to \(last) were"
    return AuditFinding(first, "\(rows) \(how), found when the oldest rows were deleted at \(at)")
  }
}
