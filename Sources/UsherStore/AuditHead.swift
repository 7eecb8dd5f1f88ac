import FoundationEssentials
import GRDB
import UsherCore

/// Where the audit begins and ends: sealed, and written with every change of it.
///
/// It is there from the moment the tables are, so one that is missing was removed.
struct AuditHead: Sendable, Equatable, Codable {
  /// The name of its note.
  static let name = "audit.head"
  /// What stands for the hash of the row before the first one.
  static let origin = Data(count: 32)
  private static let mostBreaks = 16

  /// The first row that is kept; one more than ``last`` where none is.
  var first: Int64 = 1
  /// The hash of the row before ``first``; nil where that is not known.
  var before: Data? = Self.origin
  var last: Int64 = 0
  /// The hash of the row ``last``.
  var hash = Self.origin
  /// When the record was begun, or begun anew.
  var begunAt: Timestamp
  /// When it could not go on from the head that was there, and what did not fit of the rows that
  /// are dropped; the newest last.
  var breaks: [Break] = []

  struct Break: Sendable, Equatable, Codable {
    var at: Timestamp
    /// The first row it is about; nil where it is about the head.
    var first: Int64?
    /// The last row there was, or that it is about.
    var last: Int64
    var what: What

    enum What: String, Sendable, Codable {
      case missing, unreadable, behind
      /// Of rows that were dropped.
      case gone, altered, stray
    }

    /// One for both, where the other goes on with the same; nil where it does not.
    func joined(_ other: Break) -> Break? {
      guard first != nil, let next = other.first, next == last + 1, what == other.what else {
        return nil
      }
      return Break(at: other.at, first: first, last: other.last, what: what)
    }
  }

  mutating func note(_ what: Break.What, at now: Timestamp) {
    note(Break(at: now, last: last, what: what))
  }

  mutating func note(_ one: Break) {
    if let joined = breaks.last?.joined(one) {
      breaks[breaks.count - 1] = joined
    } else {
      breaks.append(one)
    }
    breaks.removeFirst(max(0, breaks.count - Self.mostBreaks))
  }

  func write(by sealer: Sealer) throws -> GroupCommit.Operation {
    let row = NoteRow(name: Self.name, payload: try SealedPayload(encoding: self))
    let sealed = try sealer.seal(row)
    return { db in
      try db.cachedStatement(
        sql: """
          INSERT INTO notes (name, sealed) VALUES (?, ?)
          ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed
          """
      ).execute(arguments: [Self.name, sealed])
    }
  }
}

extension AuditHead {
  /// What is there of a head.
  enum Stored: Equatable {
    case head(AuditHead)
    case missing
    /// It does not open.
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

  /// The head to go on from. Where it was removed, altered or put back it is made anew of the rows,
  /// and says so from then on: the daemon goes on recording, and the finding stays.
  static func resume(
    from db: Database, _ sealer: Sealer, at now: Timestamp
  ) throws -> AuditHead {
    switch try stored(in: db, sealer) {
    case .head(var head):
      let last = head.last
      try head.follow(db, sealer)
      if head.last > last { head.note(.behind, at: now) }
      return head
    case .missing:
      var head = try remade(of: db, sealer, at: now)
      head.note(.missing, at: now)
      return head
    case .unreadable:
      var head = try remade(of: db, sealer, at: now)
      head.note(.unreadable, at: now)
      return head
    }
  }

  /// Goes on to the last row that follows from this head.
  private mutating func follow(_ db: Database, _ sealer: Sealer) throws {
    while let row = try StoredAuditRow.fetch(db, "n = ?", [last + 1], most: 1).first {
      guard row.before == hash, row.opened(by: sealer) != nil else { return }
      (last, hash) = (row.n, row.hash)
    }
  }

  /// From the first row that opens to the last.
  private static func remade(
    of db: Database, _ sealer: Sealer, at now: Timestamp
  ) throws -> AuditHead {
    var head = AuditHead(begunAt: now)
    func find(_ order: String) throws -> StoredAuditRow? {
      try StoredAuditRow.fetch(db, "n > 0 ORDER BY n \(order)", [], most: mostTried)
        .first { $0.opened(by: sealer) != nil }
    }
    guard let first = try find("ASC"), let last = try find("DESC") else { return head }
    head.first = first.n
    head.before = first.n == 1 ? origin : nil
    (head.last, head.hash) = (last.n, last.hash)
    return head
  }

  /// So many rows of somebody else's may stand at either end.
  private static let mostTried = 4096
}

extension AuditHead.Break {
  var finding: AuditFinding {
    switch what {
    case .missing:
      AuditFinding(
        nil, "the head was gone at \(at): it was made anew, of the rows up to \(last)")
    case .unreadable:
      AuditFinding(
        nil, "the head did not open at \(at): it was made anew, of the rows up to \(last)")
    case .behind:
      AuditFinding(nil, "an older head was there at \(at): it was carried on to row \(last)")
    case .gone: dropped("gone")
    case .altered: dropped("altered")
    case .stray: dropped("not the one written there")
    }
  }

  private func dropped(_ how: String) -> AuditFinding {
    let first = first ?? last
    let rows = first == last ? "row \(last) was" : "rows \(first) to \(last) were"
    return AuditFinding(first, "\(rows) \(how), found when the oldest were dropped at \(at)")
  }
}
