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
    switch change {
    case .putFlow(let row): try put(row, [row.id.rawValue])
    case .appendJournal(let row): append(row)
    case .deleteFlow(let id): delete(FlowRow.table, [id.rawValue])
    case .rememberRequest(let row): recordRequest(row)
    case .forgetRequests(let time):
      run("DELETE FROM requests WHERE expires_at <= ?", [time.milliseconds])
    case .forgetAllRequests(let owner):
      run("DELETE FROM requests WHERE realm = ? AND uid = ? AND client = ?", owner.columns)
    case .putAccount(let row): try upsert(row)
    case .deleteAccount(let id):
      // The consents are deleted with their account.
      RowSets.guarding(
        GuardedRows(.consents, "account = ?", [id.rawValue]), by: sealer,
        delete(AccountRow.table, [id.rawValue]))
    case .putToken(let row): try put(row, [row.account.rawValue, row.audience, row.scope])
    case .deleteToken(let account, let audience, let scope):
      delete(TokenRow.table, [account.rawValue, audience, scope])
    case .deleteTokens(let account):
      run("DELETE FROM tokens WHERE account = ?", [account.rawValue])
    case .putConsent(let row): try put(row, [row.account.rawValue, row.client, row.grant])
    case .deleteConsent(let account, let client, let grant):
      delete(ConsentRow.table, [account.rawValue, client, grant])
    case .putLocalAuth(let row): try put(row, [row.realm, row.uid])
    case .deleteLocalAuth(let realm, let uid): delete(LocalAuthRow.table, [realm, uid])
    case .putCredential(let name, let value):
      try put(CredentialRow(name: name, value: value), [name])
    case .deleteCredential(let name): delete(CredentialRow.table, [name])
    case .putConfirmation(let row):
      try put(row, [row.realm, row.uid, row.client, row.question])
    case .deleteConfirmation(let realm, let uid, let client, let question):
      delete(ConfirmationRow.table, [realm, uid, client, question])
    case .forgetConfirmations(let time):
      RowSets.guarding(
        GuardedRows(.confirmations, "expires_at <= ?", [time.milliseconds]), by: sealer,
        run("DELETE FROM confirmations WHERE expires_at <= ?", [time.milliseconds]))
    case .putOwner(let row): try put(row, [row.realm, row.uid])
    case .deleteOwner(let realm, let uid): delete(OwnerRow.table, [realm, uid])
    case .putNote(let row): try put(row, [row.name])
    case .deleteNote(let name): delete(NoteRow.table, [name])
    }
  }

  private func run(_ sql: String, _ arguments: StatementArguments) -> Operation {
    { try $0.cachedStatement(sql: sql).execute(arguments: arguments) }
  }

  private func put<Stored: StoredRow>(
    _ row: Stored, _ key: StatementArguments
  ) throws -> Operation {
    guarding(Stored.table, key, try row.upsert(by: sealer))
  }

  private func delete(_ table: SealedTable, _ key: StatementArguments) -> Operation {
    guarding(table, key, run("DELETE FROM \(table.name) WHERE \(table.isKey)", key))
  }

  /// Returns the operation, which changes the row with this key, with the update of the digest if
  /// the table is guarded.
  private func guarding(
    _ table: SealedTable, _ key: StatementArguments, _ write: @escaping Operation
  ) -> Operation {
    guard let guarded = GuardedTable(rawValue: table.name) else { return write }
    return RowSets.guarding(GuardedRows(guarded, table.isKey, key), by: sealer, write)
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
