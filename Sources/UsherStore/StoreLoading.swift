import FoundationEssentials
import GRDB
package import UsherCore

// Reads whole tables, at start-up and for a check. These methods block, and return secrets in the
// clear. They throw `storage_unavailable` with the name of the first row that does not decrypt; no
// row is skipped.
//
// A single statement needs no isolation. GRDB's isolated read would crash the process if the
// connection has been closed meanwhile.
extension Store {
  /// Returns the remembered requests, including expired ones.
  package func loadRequests() throws(UsherError) -> [RequestRow] {
    try load(
      "SELECT realm, uid, client, provider, request_id, flow, expires_at FROM requests"
    ) { columns in
      RequestRow(
        owner: try columns.owner(), provider: ProviderName(try columns.next()),
        requestID: try columns.next(), flow: FlowID(try columns.next()),
        expiresAt: try columns.time())
    }
  }

  /// Returns whether a flow of any owner was started with this `requestId`, as far as that is
  /// remembered.
  package func isRemembered(
    _ requestID: String, at provider: ProviderName
  ) throws(UsherError) -> Bool {
    try checkOpen()
    do {
      return try database.unsafeRead { db in
        try Bool.fetchOne(
          db, sql: "SELECT EXISTS (SELECT 1 FROM requests WHERE provider = ? AND request_id = ?)",
          arguments: [provider.rawValue, requestID]) ?? false
      }
    } catch {
      throw .storage(error)
    }
  }

  package func loadAccounts() throws(UsherError) -> [AccountRow] {
    try load(
      "SELECT id, realm, uid, client, provider, wake_at, call_tag, sealed, subject_tag FROM accounts"
    ) { columns in
      let clear = AccountRow(
        id: AccountID(try columns.next()), owner: try columns.owner(),
        provider: ProviderName(try columns.next()), subject: "", wakeAt: try columns.timeOrNil(),
        callTag: try columns.nextOrNil(), payload: SealedPayload([]))
      return try self.open(columns.next(), tagged: columns.next(), into: clear)
    }
  }

  package func loadTokens() throws(UsherError) -> [TokenRow] {
    try load(
      "SELECT account, audience, scope, expires_at, status, sealed FROM tokens"
    ) { columns in
      let row = TokenRow(
        account: AccountID(try columns.next()), audience: try columns.next(),
        scope: try columns.next(),
        expiresAt: try columns.timeOrNil(),
        status: try columns.next(), payload: SealedPayload([]))
      return try self.sealer.open(columns.next(), into: row)
    }
  }

  /// Returns all consents, including expired ones.
  package func loadConsents() throws(UsherError) -> [ConsentRow] {
    try load(
      "SELECT account, client, grant_name, expires_at, sealed FROM consents"
    ) { columns in
      let row = ConsentRow(
        account: AccountID(try columns.next()), client: try columns.next(),
        grant: try columns.next(), expiresAt: try columns.time(), payload: SealedPayload([]))
      return try self.sealer.open(columns.next(), into: row)
    }
  }

  package func loadLocalAuth() throws(UsherError) -> [LocalAuthRow] {
    try load("SELECT realm, uid, sealed FROM local_auth") { columns in
      let row = LocalAuthRow(
        realm: try columns.next(), uid: try columns.next(), payload: SealedPayload([]))
      return try self.sealer.open(columns.next(), into: row)
    }
  }

  package func loadCredentials() throws(UsherError) -> [CredentialRow] {
    try load("SELECT name, sealed FROM credentials ORDER BY name") { columns in
      let row = CredentialRow(name: try columns.next(), value: Secret(""))
      return try self.sealer.open(columns.next(), into: row)
    }
  }

  /// Returns all confirmations, including expired ones.
  package func loadConfirmations() throws(UsherError) -> [ConfirmationRow] {
    try load(
      "SELECT realm, uid, client, question, expires_at, sealed FROM confirmations"
    ) { columns in
      let row = ConfirmationRow(
        realm: try columns.next(), uid: try columns.next(), client: try columns.next(),
        question: try columns.next(), expiresAt: try columns.time(), payload: SealedPayload([]))
      return try self.sealer.open(columns.next(), into: row)
    }
  }

  /// Returns the note with a name, if there is one.
  package func loadNote(_ name: String) throws(UsherError) -> NoteRow? {
    try loadNotes(where: "name = ?", [name]).first
  }

  /// Returns the notes whose names begin with an ASCII prefix, in the order of their names.
  package func loadNotes(named prefix: String) throws(UsherError) -> [NoteRow] {
    try loadNotes(where: "substr(name, 1, ?) = ? ORDER BY name", [prefix.utf8.count, prefix])
  }

  func loadNotes(
    where condition: String, _ arguments: StatementArguments
  ) throws(UsherError) -> [NoteRow] {
    try load("SELECT name, sealed FROM notes WHERE \(condition)", arguments) { columns in
      let row = NoteRow(name: try columns.next(), payload: SealedPayload([]))
      return try self.sealer.open(columns.next(), into: row)
    }
  }

  /// Decrypts an account's row, and checks that its subject tag is the tag of its subject.
  func open(
    _ sealed: Data, tagged tag: Data, into clear: AccountRow
  ) throws(UsherError) -> AccountRow {
    let row = try sealer.open(sealed, into: clear)
    guard tag == sealer.tag(ofSubject: row.subject, owner: row.owner, provider: row.provider)
    else { throw Sealer.refusal(row.identity) }
    return row
  }

  private func load<Value>(
    _ sql: String, _ arguments: StatementArguments = [],
    _ read: (inout Columns) throws -> Value
  ) throws(UsherError) -> [Value] {
    try load(sql, arguments, from: database, read)
  }

  /// Reads all rows of a query through a connection, which caches the prepared statement.
  func load<Value>(
    _ sql: String, _ arguments: StatementArguments, from connection: DatabaseQueue,
    _ read: (inout Columns) throws -> Value
  ) throws(UsherError) -> [Value] {
    try checkOpen()
    do {
      return try connection.unsafeRead { db in
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

/// Reads the columns of a row from left to right. Throws for a value of another type, which would
/// crash in GRDB's subscripts.
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

extension Timestamp {
  /// A placeholder until a row is decrypted.
  fileprivate static let never = Timestamp(milliseconds: 0)
}
