import Crypto
import FoundationEssentials
import GRDB
import UsherCore

/// A row of the audit with the hash of the row before it, as which alone it opens.
struct ChainedRow: SealedRow {
  var n: Int64
  var at: Timestamp
  /// The hash of row n − 1.
  var before: Data
  var payload: SealedPayload

  var identity: RowIdentity {
    var identity = RowIdentity(table: "audit", key: [String(n)])
    identity.bind(at.milliseconds)
    identity.bind(before.base64EncodedString())
    return identity
  }

  var hidden: [UInt8] { payload.bytes }

  mutating func reveal(_ hidden: [UInt8]) -> Bool {
    payload = SealedPayload(hidden)
    return true
  }
}

/// A row of the audit as it lies on the disk.
struct StoredAuditRow {
  let n: Int64
  let at: Timestamp
  let sealed: Data
  let before: Data

  /// SHA-256 of the row before, of number and time, and of what is sealed. Not of the clear bytes:
  /// whoever has the file could try what hashes alike.
  var hash: Data {
    var writer = ByteWriter()
    writer.append([UInt8](before))
    writer.append(n)
    writer.append(at.milliseconds)
    writer.append([UInt8](sealed))
    return Data(SHA256.hash(data: writer.bytes))
  }

  /// Nil where it is not as it was sealed there.
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

  /// Replaces what somebody else has put there.
  func write(to db: Database) throws {
    try db.cachedStatement(
      sql: """
        INSERT INTO audit (n, at, sealed, hash) VALUES (?, ?, ?, ?)
        ON CONFLICT (n) DO UPDATE SET
          at = excluded.at, sealed = excluded.sealed, hash = excluded.hash
        """
    ).execute(arguments: [n, at.milliseconds, sealed, before])
  }

  /// - Parameter condition: What follows `WHERE`; the rows come by number, the lowest first.
  static func fetch(
    _ db: Database, _ condition: String, _ arguments: StatementArguments, most: Int
  ) throws -> [StoredAuditRow] {
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: "SELECT n, at, sealed, hash FROM audit WHERE \(condition) LIMIT \(most)"),
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
