import FoundationEssentials
import GRDB
package import UsherCore

// Reads whole tables, at start-up and for a check. These methods block, and return secrets in the
// clear. They throw `storage_unavailable` with the name of the first row that does not decrypt; no
// row is skipped.
//
// A single statement needs no isolation. GRDB's isolated read would crash the process if the
// connection has been closed in the meantime.
extension Store {
  /// Returns whether a flow of any owner was started with this `requestId` at the provider within
  /// the period for which the store remembers request ids.
  package func isRemembered(
    _ requestID: String, at provider: ProviderName
  ) throws(UsherError) -> Bool {
    try load(
      "SELECT EXISTS (SELECT 1 FROM requests WHERE provider = ? AND request_id = ?)",
      [provider.rawValue, requestID]
    ) { try $0.next() as Bool }.first ?? false
  }

  package func loadLocalAuth() throws(UsherError) -> [LocalAuthRow] {
    try loadRows(LocalAuthRow.self)
  }

  package func loadCredentials() throws(UsherError) -> [CredentialRow] {
    try loadRows(CredentialRow.self, "ORDER BY name")
  }

  /// Returns all confirmations, including expired ones.
  package func loadConfirmations() throws(UsherError) -> [ConfirmationRow] {
    try loadRows(ConfirmationRow.self)
  }

  /// Returns the note (an internal value of the daemon) of the given name; nil if there is none.
  package func loadNote(_ name: String) throws(UsherError) -> NoteRow? {
    try loadNotes(where: "name = ?", [name]).first
  }

  /// Returns the notes (internal values of the daemon) whose names begin with an ASCII prefix,
  /// sorted by name.
  package func loadNotes(named prefix: String) throws(UsherError) -> [NoteRow] {
    try loadNotes(where: "substr(name, 1, ?) = ? ORDER BY name", [prefix.utf8.count, prefix])
  }

  func loadNotes(
    where condition: String, _ arguments: StatementArguments
  ) throws(UsherError) -> [NoteRow] {
    try loadRows(NoteRow.self, "WHERE \(condition)", arguments)
  }

  /// Returns the decrypted rows of a table.
  ///
  /// - Parameters:
  ///   - rest: The part of the SQL statement after the name of the table.
  ///   - connection: The connection to read through; nil: the connection that writes.
  func loadRows<Stored: StoredRow>(
    _ type: Stored.Type, _ rest: String = "", _ arguments: StatementArguments = [],
    from connection: DatabaseQueue? = nil
  ) throws(UsherError) -> [Stored] {
    let table = Stored.table
    return try load(
      "SELECT \(table.columns) FROM \(table.name) \(rest)", arguments, from: connection
    ) { columns in
      let row = try Stored(clear: &columns)
      return try self.sealer.open(columns.next(), into: row)
    }
  }

  /// Decrypts an account's row, and checks that the row's subject tag is the keyed hash of its
  /// subject.
  func open(
    _ sealed: Data, tagged tag: Data, into clear: AccountRow
  ) throws(UsherError) -> AccountRow {
    let row = try sealer.open(sealed, into: clear)
    guard tag == sealer.tag(ofSubject: row.subject, owner: row.owner, provider: row.provider)
    else { throw Sealer.refusal(row.identity) }
    return row
  }

  /// Reads all rows of a query and converts each with `read`. The prepared statement is cached.
  ///
  /// - Parameter connection: The connection to read through; nil: the connection that writes.
  func load<Value>(
    _ sql: String, _ arguments: StatementArguments = [], from connection: DatabaseQueue? = nil,
    _ read: (inout Columns) throws -> Value
  ) throws(UsherError) -> [Value] {
    try checkOpen()
    do {
      return try (connection ?? database).unsafeRead { db in
        let statement = try db.cachedStatement(sql: sql)
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        var values: [Value] = []
        while let row = try rows.next() {
          var columns = Columns(row)
          values.append(try read(&columns))
        }
        return values
      }
    } catch {
      throw .storage(error)
    }
  }
}

/// Reads the columns of a database row from left to right. Throws for a value of another type, for
/// which GRDB's subscripts would crash the process.
struct Columns {
  private let row: Row
  private var index = 0

  init(_ row: Row) { self.row = row }

  mutating func next<Value: DatabaseValueConvertible>() throws -> Value {
    let stored = try nextStored()
    guard let value = Value.fromDatabaseValue(stored) else { throw refusal }
    return value
  }

  mutating func nextOrNil<Value: DatabaseValueConvertible>() throws -> Value? {
    let stored = try nextStored()
    guard !stored.isNull else { return nil }
    guard let value = Value.fromDatabaseValue(stored) else { throw refusal }
    return value
  }

  mutating func time() throws -> Timestamp { Timestamp(milliseconds: try next()) }

  mutating func timeOrNil() throws -> Timestamp? {
    (try nextOrNil() as Int64?).map(Timestamp.init(milliseconds:))
  }

  mutating func owner() throws -> Owner {
    Owner(realm: try next(), uid: try next(), client: try next() as String)
  }

  private mutating func nextStored() throws -> DatabaseValue {
    guard index < row.count else { throw refusal }
    defer { index += 1 }
    return row[index]
  }

  private var refusal: UsherError {
    UsherError(.storageUnavailable, "the database is damaged: a column has a value of another type")
  }
}
