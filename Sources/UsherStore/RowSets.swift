import FoundationEssentials
import GRDB
import UsherCore

/// A small table whose set of rows is authenticated as a whole.
///
/// Each row is sealed by itself, which does not show that a row is gone or older than it should be.
enum GuardedTable: String, CaseIterable {
  case confirmations, consents, credentials, notes
  case keySlots = "key_slots"
  case localAuth = "local_auth"

  /// The primary key and what is sealed. The other columns are authenticated with what is sealed.
  var columns: String {
    switch self {
    case .confirmations: "realm, uid, client, question, sealed"
    case .consents: "account, client, grant_name, sealed"
    case .credentials, .notes: "name, sealed"
    case .keySlots: "kind, host, wrapped"
    case .localAuth: "realm, uid, sealed"
    }
  }

  /// The audit's head is checked by the audit, which goes on where it was changed and says so.
  var condition: String {
    self == .notes ? "name NOT IN ('\(AuditHead.name)', '\(RowSets.name)')" : "1"
  }
}

/// Some rows of a guarded table.
struct GuardedRows: Sendable {
  let table: GuardedTable
  let condition: String
  let arguments: StatementArguments

  init(_ table: GuardedTable, _ condition: String = "1", _ arguments: StatementArguments = []) {
    self.table = table
    self.condition = condition
    self.arguments = arguments
  }
}

/// A digest of the rows of each guarded table, kept as a sealed note and written with every change.
///
/// A digest is the exclusive or of a keyed hash of each row. Whoever does not have the key can
/// neither compute a row's hash nor find another set of rows with the same digest, and a change
/// costs as much as the rows it is about.
struct RowSets: Equatable {
  /// The name of the note.
  static let name = "row-sets"

  private var digests: [String: [UInt8]] = [:]

  init() {}

  /// Nil for other bytes than ``bytes``.
  private init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    while !reader.isAtEnd {
      guard let table = reader.text(), let digest = reader.field() else { return nil }
      digests[table] = digest
    }
  }

  /// The name of each table and its digest.
  private var bytes: [UInt8] {
    var writer = ByteWriter()
    for (table, digest) in digests.sorted(by: { $0.key < $1.key }) {
      writer.append(table)
      writer.append(digest)
    }
    return writer.bytes
  }

  /// The digests of the rows that are there.
  init(of db: Database, by sealer: Sealer) throws {
    for table in GuardedTable.allCases { try toggle(GuardedRows(table), in: db, by: sealer) }
  }

  /// Takes rows in that are not in the digests, and out those that are.
  mutating func toggle(_ rows: GuardedRows, in db: Database, by sealer: Sealer) throws {
    let table = rows.table
    var digest = digests[table.rawValue] ?? [UInt8](repeating: 0, count: 32)
    let statement = try db.cachedStatement(
      sql: """
        SELECT \(table.columns) FROM \(table.rawValue)
        WHERE (\(rows.condition)) AND \(table.condition)
        """)
    let found = try Row.fetchCursor(statement, arguments: rows.arguments)
    while let row = try found.next() {
      for (index, byte) in try sealer.tag(of: row, in: table).enumerated() { digest[index] ^= byte }
    }
    digests[table.rawValue] = digest
  }

  /// The tables whose digests are not the same.
  func tables(otherThanIn other: RowSets) -> [String] {
    GuardedTable.allCases.map(\.rawValue).filter { digests[$0] != other.digests[$0] }.sorted()
  }

  /// - Throws: `storage_unavailable` where the note is missing or does not open.
  static func stored(in db: Database, by sealer: Sealer) throws -> RowSets {
    let statement = try db.cachedStatement(sql: "SELECT sealed FROM notes WHERE name = ?")
    let empty = NoteRow(name: name, payload: SealedPayload([]))
    guard let sealed = try Data.fetchOne(statement, arguments: [name]),
      let sets = RowSets(try sealer.open(sealed, into: empty).payload.bytes)
    else { throw Sealer.refusal(empty.identity) }
    return sets
  }

  func write(to db: Database, by sealer: Sealer) throws {
    let row = NoteRow(name: Self.name, payload: SealedPayload(bytes))
    try db.cachedStatement(
      sql: """
        INSERT INTO notes (name, sealed) VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed
        """
    ).execute(arguments: [Self.name, try sealer.seal(row)])
  }

  /// Makes a change of rows write the digests too. It runs in one transaction, or not at all.
  static func guarding(
    _ rows: GuardedRows, by sealer: Sealer, _ change: @escaping GroupCommit.Operation
  ) -> GroupCommit.Operation {
    { db in
      let before = try stored(in: db, by: sealer)
      var after = before
      try after.toggle(rows, in: db, by: sealer)
      try change(db)
      try after.toggle(rows, in: db, by: sealer)
      if after != before { try after.write(to: db, by: sealer) }
    }
  }
}

extension Sealer {
  /// A keyed hash of a row: equal for equal rows of one table, and tells nothing else.
  fileprivate func tag(of row: Row, in table: GuardedTable) throws -> Data {
    var identity = RowIdentity(table: "row set", key: [table.rawValue])
    for value in row.databaseValues {
      switch value.storage {
      case .string(let text): identity.bind(text)
      case .int64(let number): identity.bind(number)
      case .blob(let bytes): identity.bind([UInt8](bytes))
      case .null, .double: throw Self.refusal(identity)
      }
    }
    return tag(of: identity)
  }
}
