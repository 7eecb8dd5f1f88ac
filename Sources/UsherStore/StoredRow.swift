import FoundationEssentials
import GRDB
import UsherCore

/// The database table in which the rows of one type are stored, and its SQL texts.
struct SealedTable: Sendable {
  let name: String
  /// The columns of the table: the clear ones, the primary key first, then the encrypted one.
  let columns: String
  /// The SQL condition that selects the row with a given primary key.
  let isKey: String
  /// The SQL statement that adds a row or replaces the row with the same primary key.
  let upsert: String

  init(_ name: String, key: [String], _ others: [String] = []) {
    let changing = others + ["sealed"]
    let names = key + changing
    self.name = name
    columns = names.joined(separator: ", ")
    isKey = key.map { "\($0) = ?" }.joined(separator: " AND ")
    upsert = """
      INSERT INTO \(name) (\(columns)) VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))
      ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET
        \(changing.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
      """
  }
}

/// A row of a ``SealedTable`` that is read and written by its own columns alone.
protocol StoredRow: SealedRow {
  static var table: SealedTable { get }

  /// Creates a row from the values of its clear columns. The encrypted columns have placeholders.
  init(clear columns: inout Columns) throws

  /// The values of the clear columns, in the order of ``SealedTable/columns``.
  var clearValues: StatementArguments { get }
}

extension StoredRow {
  /// Returns the operation that stores the row. Secrets are encrypted here, before the operation is
  /// queued.
  func upsert(by sealer: Sealer) throws -> GroupCommit.Operation {
    let sql = Self.table.upsert
    let arguments = try clearValues + [sealer.seal(self)]
    return { try $0.cachedStatement(sql: sql).execute(arguments: arguments) }
  }
}

extension Owner {
  var columns: StatementArguments { [realm, uid, client ?? ""] }
}

extension FlowRow: StoredRow {
  static let table = SealedTable(
    "flows", key: ["id"],
    ["realm", "uid", "client", "provider", "kind", "status", "revision", "expires_at"])

  init(clear columns: inout Columns) throws {
    let unread = Timestamp(milliseconds: 0)
    self.init(
      id: FlowID(try columns.next()), owner: try columns.owner(),
      provider: ProviderName(try columns.next()), kind: try columns.next(),
      status: try columns.next(), revision: try columns.next(), state: "", createdAt: unread,
      updatedAt: unread, expiresAt: try columns.time(), payload: SealedPayload([]))
  }

  var clearValues: StatementArguments {
    [id.rawValue] + owner.columns
      + [provider.rawValue, kind, status, revision, expiresAt.milliseconds]
  }
}

/// No ``StoredRow``: the last clear column, the subject tag, is a keyed hash. Only a sealer can
/// compute it, and a row that is read must match it.
extension AccountRow {
  static let table = SealedTable(
    "accounts", key: ["id"],
    ["realm", "uid", "client", "provider", "wake_at", "call_tag", "subject_tag"])

  init(clear columns: inout Columns) throws {
    self.init(
      id: AccountID(try columns.next()), owner: try columns.owner(),
      provider: ProviderName(try columns.next()), subject: "", wakeAt: try columns.timeOrNil(),
      callTag: try columns.nextOrNil(), payload: SealedPayload([]))
  }

  var clearValues: StatementArguments {
    [id.rawValue] + owner.columns + [provider.rawValue, wakeAt?.milliseconds, callTag]
  }
}

extension TokenRow: StoredRow {
  static let table = SealedTable(
    "tokens", key: ["account", "audience", "scope"], ["expires_at", "status"])

  init(clear columns: inout Columns) throws {
    self.init(
      account: AccountID(try columns.next()), audience: try columns.next(),
      scope: try columns.next(), expiresAt: try columns.timeOrNil(), status: try columns.next(),
      payload: SealedPayload([]))
  }

  var clearValues: StatementArguments {
    [account.rawValue, audience, scope, expiresAt?.milliseconds, status]
  }
}

extension ConsentRow: StoredRow {
  static let table = SealedTable(
    "consents", key: ["account", "client", "grant_name"], ["expires_at"])

  init(clear columns: inout Columns) throws {
    self.init(
      account: AccountID(try columns.next()), client: try columns.next(),
      grant: try columns.next(), expiresAt: try columns.time(), payload: SealedPayload([]))
  }

  var clearValues: StatementArguments { [account.rawValue, client, grant, expiresAt.milliseconds] }
}

extension LocalAuthRow: StoredRow {
  static let table = SealedTable("local_auth", key: ["realm", "uid"])

  init(clear columns: inout Columns) throws {
    self.init(realm: try columns.next(), uid: try columns.next(), payload: SealedPayload([]))
  }

  var clearValues: StatementArguments { [realm, uid] }
}

extension CredentialRow: StoredRow {
  static let table = SealedTable("credentials", key: ["name"])

  init(clear columns: inout Columns) throws {
    self.init(name: try columns.next(), value: Secret(""))
  }

  var clearValues: StatementArguments { [name] }
}

extension ConfirmationRow: StoredRow {
  static let table = SealedTable(
    "confirmations", key: ["realm", "uid", "client", "question"], ["expires_at"])

  init(clear columns: inout Columns) throws {
    self.init(
      realm: try columns.next(), uid: try columns.next(), client: try columns.next(),
      question: try columns.next(), expiresAt: try columns.time(), payload: SealedPayload([]))
  }

  var clearValues: StatementArguments { [realm, uid, client, question, expiresAt.milliseconds] }
}

extension OwnerRow: StoredRow {
  static let table = SealedTable("owners", key: ["realm", "uid"], ["is_withheld"])

  init(clear columns: inout Columns) throws {
    self.init(
      realm: try columns.next(), uid: try columns.next(), isWithheld: try columns.next(),
      payload: SealedPayload([]))
  }

  var clearValues: StatementArguments { [realm, uid, isWithheld] }
}

extension NoteRow: StoredRow {
  static let table = SealedTable("notes", key: ["name"])

  init(clear columns: inout Columns) throws {
    self.init(name: try columns.next(), payload: SealedPayload([]))
  }

  var clearValues: StatementArguments { [name] }
}
