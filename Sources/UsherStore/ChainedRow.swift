import Crypto
import FoundationEssentials
import GRDB
import UsherCore

/// A row of the audit log together with the hash of the previous row, which is part of the
/// authenticated data.
struct ChainedRow: PayloadRow {
  var n: Int64
  var at: Timestamp
  /// The hash of the previous row, n − 1.
  var before: Data
  var payload: SealedPayload

  var identity: RowIdentity {
    var identity = RowIdentity(table: "audit", key: [String(n)])
    identity.bind(at.milliseconds)
    identity.bind(before.base64EncodedString())
    return identity
  }
}

/// A row of the audit log as it is on disk.
struct StoredAuditRow {
  let n: Int64
  let at: Timestamp
  let sealed: Data
  let before: Data

  /// The SHA-256 of the previous row's hash, the number, the time and the encrypted bytes. The
  /// decrypted bytes are not hashed, because their hash would let a reader of the file test guesses
  /// of the content.
  var hash: Data {
    var writer = ByteWriter()
    writer.append([UInt8](before))
    writer.append(n)
    writer.append(at.milliseconds)
    writer.append([UInt8](sealed))
    return Data(SHA256.hash(data: writer.bytes))
  }

  /// Returns the decrypted row; nil if it was altered or moved by something other than usherd.
  func opened(by sealer: Sealer) -> AuditRow? {
    let row = ChainedRow(n: n, at: at, before: before, payload: SealedPayload([]))
    guard let row = try? sealer.open(sealed, into: row) else { return nil }
    return AuditRow(n: n, at: at, payload: row.payload)
  }
}

extension StoredAuditRow {
  init(_ row: ChainedRow, by sealer: Sealer) throws {
    self.init(n: row.n, at: row.at, sealed: try sealer.seal(row), before: row.before)
  }

  /// Writes the row. Replaces a row with the same number, which something other than usherd must
  /// have added.
  func write(to db: Database) throws {
    try db.cachedStatement(
      sql: """
        INSERT INTO audit (n, at, sealed, hash) VALUES (?, ?, ?, ?)
        ON CONFLICT (n) DO UPDATE SET
          at = excluded.at, sealed = excluded.sealed, hash = excluded.hash
        """
    ).execute(arguments: [n, at.milliseconds, sealed, before])
  }

  /// Returns the rows that meet a condition.
  ///
  /// - Parameter condition: The SQL text after `WHERE`, which may include `ORDER BY`.
  static func fetch(
    _ db: Database, _ condition: String, _ arguments: StatementArguments, limit: Int
  ) throws -> [StoredAuditRow] {
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: "SELECT n, at, sealed, hash FROM audit WHERE \(condition) LIMIT \(limit)"),
      arguments: arguments)
    var found: [StoredAuditRow] = []
    while let row = try rows.next() {
      var columns = Columns(row)
      found.append(
        StoredAuditRow(
          n: try columns.next(), at: try columns.time(), sealed: try columns.next(),
          before: try columns.next()))
    }
    return found
  }
}
