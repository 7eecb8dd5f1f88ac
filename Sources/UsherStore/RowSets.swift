import FoundationEssentials
import GRDB
import UsherCore

/// A small table whose set of rows is authenticated as a whole (``RowSets``).
///
/// The encryption of single rows does not reveal that a row was deleted or replaced by an older
/// version of the row.
enum GuardedTable: String, CaseIterable {
  case confirmations, consents, credentials, notes
  case keySlots = "key_slots"
  case localAuth = "local_auth"

  /// The columns that enter the hash of a row: the primary key and the encrypted column. The other
  /// columns are part of the encrypted column's authenticated data.
  var columns: String {
    switch self {
    case .confirmations: "realm, uid, client, question, sealed"
    case .consents: "account, client, grant_name, sealed"
    case .credentials, .notes: "name, sealed"
    case .keySlots: "kind, host, wrapped"
    case .localAuth: "realm, uid, sealed"
    }
  }

  /// The SQL condition for the rows in the set, without the note with the digests themselves and
  /// the head of the audit log. The audit log has its own check, which reports a change and
  /// continues.
  var condition: String {
    self == .notes ? "name NOT IN ('\(AuditHead.name)', '\(RowSets.name)')" : "1"
  }
}

/// A selection of rows of a guarded table, by an SQL condition.
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

/// A digest of the rows of each ``GuardedTable``. The digests are stored as a sealed note and
/// updated with every change of these tables.
///
/// A digest is the exclusive or of the keyed hashes of all rows. Without the key it is not possible
/// to compute the hash of a row or to find another set of rows with the same digest. The cost of an
/// update depends only on the number of changed rows.
struct RowSets: Equatable {
  /// The name of the note (``NoteRow``) that contains the digests of all guarded tables.
  static let name = "row-sets"

  private var digests: [String: [UInt8]] = [:]

  init() {}

  /// Decodes the digests from the content of the note; nil if the bytes are malformed.
  private init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    while !reader.isAtEnd {
      guard let table = reader.text(), let digest = reader.field() else { return nil }
      digests[table] = digest
    }
  }

  /// The content of the note: the name and the digest of each table.
  private var bytes: [UInt8] {
    var writer = ByteWriter()
    for (table, digest) in digests.sorted(by: { $0.key < $1.key }) {
      writer.append(table)
      writer.append(digest)
    }
    return writer.bytes
  }

  /// Computes the digests of all rows that are in the database.
  init(of db: Database, by sealer: Sealer) throws {
    for table in GuardedTable.allCases { try toggle(GuardedRows(table), in: db, by: sealer) }
  }

  /// Adds the selected rows to the digests, or removes them if the digests contain them. The
  /// exclusive or does both.
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

  /// Returns the names of the tables whose digests differ from those in `other`.
  func tables(otherThanIn other: RowSets) -> [String] {
    GuardedTable.allCases.map(\.rawValue).filter { digests[$0] != other.digests[$0] }.sorted()
  }

  /// Reads the stored digests. Throws `storage_unavailable` if their note is missing or does not
  /// decrypt.
  static func stored(in db: Database, by sealer: Sealer) throws -> RowSets {
    let statement = try db.cachedStatement(sql: "SELECT sealed FROM notes WHERE name = ?")
    let empty = NoteRow(name: name, payload: SealedPayload([]))
    guard let sealed = try Data.fetchOne(statement, arguments: [name]),
      let sets = RowSets(try sealer.open(sealed, into: empty).payload.bytes)
    else { throw Sealer.refusal(empty.identity) }
    return sets
  }

  func write(to db: Database, by sealer: Sealer) throws {
    try NoteRow(name: Self.name, payload: SealedPayload(bytes)).upsert(by: sealer)(db)
  }

  /// Returns an operation that performs `change`, which may change only `rows`, and stores the new
  /// digest of their table, by which deleted and replaced rows are detected. It must run in a
  /// transaction.
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
  /// Returns the keyed hash of a row. It reveals only whether two rows of a table are equal.
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
