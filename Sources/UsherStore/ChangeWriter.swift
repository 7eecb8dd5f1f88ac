import FoundationEssentials
import GRDB
import UsherCore

/// Converts changes to SQL operations. Secrets are encrypted here, before an operation is queued
/// for writing.
struct ChangeWriter: Sendable {
  typealias Operation = GroupCommit.Operation

  let sealer: Sealer
  let clock: any UsherCore.Clock

  /// Returns the operation that writes a change. For a guarded table, the operation also updates
  /// the authenticated digest of the table's rows (``RowSets``).
  func operation(for change: Change) throws -> Operation {
    let write = try plainOperation(for: change)
    guard let rows = change.guardedRows else { return write }
    return RowSets.guarding(rows, by: sealer, write)
  }

  private func plainOperation(for change: Change) throws -> Operation {
    switch change {
    case .putFlow(let row): try row.upsert(by: sealer)
    case .appendJournal(let row): append(row)
    case .deleteFlow(let id): delete(FlowRow.table, [id.rawValue])
    case .rememberRequest(let row): recordRequest(row)
    case .forgetRequests(let time):
      run("DELETE FROM requests WHERE expires_at <= ?", [time.milliseconds])
    case .forgetAllRequests(let owner):
      run("DELETE FROM requests WHERE realm = ? AND uid = ? AND client = ?", owner.columns)
    case .putAccount(let row): try upsert(row)
    case .deleteAccount(let id): delete(AccountRow.table, [id.rawValue])
    case .putToken(let row): try row.upsert(by: sealer)
    case .deleteToken(let account, let audience, let scope):
      delete(TokenRow.table, [account.rawValue, audience, scope])
    case .deleteTokens(let account):
      run("DELETE FROM tokens WHERE account = ?", [account.rawValue])
    case .putConsent(let row): try row.upsert(by: sealer)
    case .deleteConsent(let account, let client, let grant):
      delete(ConsentRow.table, [account.rawValue, client, grant])
    case .putLocalAuth(let row): try row.upsert(by: sealer)
    case .deleteLocalAuth(let realm, let uid): delete(LocalAuthRow.table, [realm, uid])
    case .putCredential(let name, let value):
      try CredentialRow(name: name, value: value).upsert(by: sealer)
    case .deleteCredential(let name): delete(CredentialRow.table, [name])
    case .putConfirmation(let row): try row.upsert(by: sealer)
    case .deleteConfirmation(let realm, let uid, let client, let question):
      delete(ConfirmationRow.table, [realm, uid, client, question])
    case .forgetConfirmations(let time):
      run("DELETE FROM confirmations WHERE expires_at <= ?", [time.milliseconds])
    case .putOwner(let row): try row.upsert(by: sealer)
    case .deleteOwner(let realm, let uid): delete(OwnerRow.table, [realm, uid])
    case .putNote(let row): try row.upsert(by: sealer)
    case .deleteNote(let name): delete(NoteRow.table, [name])
    }
  }

  private func run(_ sql: String, _ arguments: StatementArguments) -> Operation {
    { try $0.cachedStatement(sql: sql).execute(arguments: arguments) }
  }

  private func delete(_ table: SealedTable, _ key: StatementArguments) -> Operation {
    run("DELETE FROM \(table.name) WHERE \(table.isKey)", key)
  }

  private func append(_ row: JournalRow) -> Operation {
    run(
      """
      INSERT INTO journal (flow, revision, state, status, step_type, at) VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        row.flow.rawValue, row.revision, row.state, row.status, row.stepType, row.at.milliseconds,
      ])
  }

  private func recordRequest(_ row: RequestRow) -> Operation {
    let key = row.owner.columns + [row.provider.rawValue, row.requestID]
    let isKey = "realm = ? AND uid = ? AND client = ? AND provider = ? AND request_id = ?"
    let now = clock.now().milliseconds
    return { db in
      try db.cachedStatement(sql: "DELETE FROM requests WHERE \(isKey) AND expires_at <= ?")
        .execute(arguments: key + [now])
      let known = try String.fetchOne(
        db.cachedStatement(sql: "SELECT flow FROM requests WHERE \(isKey)"), arguments: key)
      if let known { throw Conflict.request(FlowID(known)).error }
      try db.cachedStatement(
        sql: """
          INSERT INTO requests (realm, uid, client, provider, request_id, flow, expires_at)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: key + [row.flow.rawValue, row.expiresAt.milliseconds])
    }
  }

  private func upsert(_ row: AccountRow) throws -> Operation {
    let tag = sealer.tag(ofSubject: row.subject, owner: row.owner, provider: row.provider)
    let insert = run(AccountRow.table.upsert, try row.clearValues + [tag, sealer.seal(row)])
    return { db in
      let other = try String.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT id FROM accounts
            WHERE realm = ? AND uid = ? AND client = ? AND provider = ? AND subject_tag = ?
              AND id <> ?
            """),
        arguments: row.owner.columns + [row.provider.rawValue, tag, row.id.rawValue])
      if let other { throw Conflict.account(AccountID(other)).error }
      try insert(db)
    }
  }
}

extension Change {
  /// The rows of a guarded table that the change can add, replace or delete; nil if the change
  /// concerns no guarded table.
  fileprivate var guardedRows: GuardedRows? {
    switch self {
    case .putFlow, .appendJournal, .deleteFlow, .rememberRequest, .forgetRequests,
      .forgetAllRequests, .putAccount, .putToken, .deleteToken, .deleteTokens, .putOwner,
      .deleteOwner:
      nil
    case .deleteAccount(let id): GuardedRows(.consents, "account = ?", [id.rawValue])
    case .putConsent(let row): .consent(row.account, row.client, row.grant)
    case .deleteConsent(let account, let client, let grant): .consent(account, client, grant)
    case .putLocalAuth(let row): .localAuth(row.realm, row.uid)
    case .deleteLocalAuth(let realm, let uid): .localAuth(realm, uid)
    case .putCredential(let name, _), .deleteCredential(let name):
      GuardedRows(.credentials, "name = ?", [name])
    case .putConfirmation(let row): .confirmation(row.realm, row.uid, row.client, row.question)
    case .deleteConfirmation(let realm, let uid, let client, let question):
      .confirmation(realm, uid, client, question)
    case .forgetConfirmations(let time):
      GuardedRows(.confirmations, "expires_at <= ?", [time.milliseconds])
    case .putNote(let row): GuardedRows(.notes, "name = ?", [row.name])
    case .deleteNote(let name): GuardedRows(.notes, "name = ?", [name])
    }
  }
}

extension GuardedRows {
  fileprivate static func consent(
    _ account: AccountID, _ client: String, _ grant: String
  ) -> GuardedRows {
    GuardedRows(.consents, ConsentRow.table.isKey, [account.rawValue, client, grant])
  }

  fileprivate static func localAuth(_ realm: String, _ uid: UInt32) -> GuardedRows {
    GuardedRows(.localAuth, LocalAuthRow.table.isKey, [realm, uid])
  }

  fileprivate static func confirmation(
    _ realm: String, _ uid: UInt32, _ client: String, _ question: String
  ) -> GuardedRows {
    GuardedRows(.confirmations, ConfirmationRow.table.isKey, [realm, uid, client, question])
  }
}
