import FoundationEssentials
import GRDB
import UsherCore

/// Converts changes to SQL operations. Secrets are encrypted here, before an operation is queued.
struct ChangeWriter: Sendable {
  typealias Operation = GroupCommit.Operation

  let sealer: Sealer
  let clock: any UsherCore.Clock

  /// Returns the operation that writes a change, and that updates the row sets of guarded tables.
  func operation(for change: Change) throws -> Operation {
    let write = try plainOperation(for: change)
    guard let rows = change.guardedRows else { return write }
    return RowSets.guarding(rows, by: sealer, write)
  }

  private func plainOperation(for change: Change) throws -> Operation {
    switch change {
    case .putFlow(let row): try upsert(row)
    case .appendJournal(let row): append(row)
    case .deleteFlow(let id): run("DELETE FROM flows WHERE id = ?", [id.rawValue])
    case .rememberRequest(let row): remember(row)
    case .forgetRequests(let time):
      run("DELETE FROM requests WHERE expires_at <= ?", [time.milliseconds])
    case .forgetAllRequests(let owner):
      run(
        "DELETE FROM requests WHERE realm = ? AND uid = ? AND client = ?",
        [owner.realm, owner.uid, owner.client ?? ""])
    case .putAccount(let row): try upsert(row)
    case .deleteAccount(let id): run("DELETE FROM accounts WHERE id = ?", [id.rawValue])
    case .putToken(let row): try upsert(row)
    case .deleteToken(let account, let audience, let scope):
      run(
        "DELETE FROM tokens WHERE account = ? AND audience = ? AND scope = ?",
        [account.rawValue, audience, scope])
    case .deleteTokens(let account):
      run("DELETE FROM tokens WHERE account = ?", [account.rawValue])
    case .putConsent(let row): try upsert(row)
    case .deleteConsent(let account, let client, let grant):
      run(
        "DELETE FROM consents WHERE account = ? AND client = ? AND grant_name = ?",
        [account.rawValue, client, grant])
    case .putLocalAuth(let row): try upsert(row)
    case .deleteLocalAuth(let realm, let uid):
      run("DELETE FROM local_auth WHERE realm = ? AND uid = ?", [realm, uid])
    case .putCredential(let name, let value): try upsert(CredentialRow(name: name, value: value))
    case .deleteCredential(let name): run("DELETE FROM credentials WHERE name = ?", [name])
    case .putConfirmation(let row): try upsert(row)
    case .deleteConfirmation(let realm, let uid, let client, let question):
      run(
        "DELETE FROM confirmations WHERE realm = ? AND uid = ? AND client = ? AND question = ?",
        [realm, uid, client, question])
    case .forgetConfirmations(let time):
      run("DELETE FROM confirmations WHERE expires_at <= ?", [time.milliseconds])
    case .putOwner(let row): try upsert(row)
    case .deleteOwner(let realm, let uid):
      run("DELETE FROM owners WHERE realm = ? AND uid = ?", [realm, uid])
    case .putNote(let row): try upsert(row)
    case .deleteNote(let name): run("DELETE FROM notes WHERE name = ?", [name])
    }
  }

  private func run(_ sql: String, _ arguments: StatementArguments) -> Operation {
    { try $0.cachedStatement(sql: sql).execute(arguments: arguments) }
  }

  private func upsert(_ row: FlowRow) throws -> Operation {
    run(
      """
      INSERT INTO flows
        (id, realm, uid, client, provider, kind, status, revision, expires_at, sealed)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET realm = excluded.realm, uid = excluded.uid,
        client = excluded.client, provider = excluded.provider, kind = excluded.kind,
        status = excluded.status, revision = excluded.revision,
        expires_at = excluded.expires_at, sealed = excluded.sealed
      """,
      [
        row.id.rawValue, row.owner.realm, row.owner.uid, row.owner.client ?? "",
        row.provider.rawValue, row.kind, row.status, row.revision, row.expiresAt.milliseconds,
        try sealer.seal(row),
      ])
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

  private func remember(_ row: RequestRow) -> Operation {
    let key: StatementArguments = [
      row.owner.realm, row.owner.uid, row.owner.client ?? "", row.provider.rawValue, row.requestID,
    ]
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
    let insert = run(
      """
      INSERT INTO accounts
        (id, realm, uid, client, provider, subject_tag, wake_at, call_tag, sealed)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET realm = excluded.realm, uid = excluded.uid,
        client = excluded.client, provider = excluded.provider,
        subject_tag = excluded.subject_tag, wake_at = excluded.wake_at,
        call_tag = excluded.call_tag, sealed = excluded.sealed
      """,
      [
        row.id.rawValue, row.owner.realm, row.owner.uid, row.owner.client ?? "",
        row.provider.rawValue, tag, row.wakeAt?.milliseconds, row.callTag,
        try sealer.seal(row),
      ])
    return { db in
      let other = try String.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT id FROM accounts
            WHERE realm = ? AND uid = ? AND client = ? AND provider = ? AND subject_tag = ?
              AND id <> ?
            """),
        arguments: [
          row.owner.realm, row.owner.uid, row.owner.client ?? "", row.provider.rawValue, tag,
          row.id.rawValue,
        ])
      if let other { throw Conflict.account(AccountID(other)).error }
      try insert(db)
    }
  }

  private func upsert(_ row: TokenRow) throws -> Operation {
    run(
      """
      INSERT INTO tokens (account, audience, scope, expires_at, status, sealed)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (account, audience, scope) DO UPDATE SET expires_at = excluded.expires_at,
        status = excluded.status, sealed = excluded.sealed
      """,
      [
        row.account.rawValue, row.audience, row.scope, row.expiresAt?.milliseconds, row.status,
        try sealer.seal(row),
      ])
  }

  private func upsert(_ row: CredentialRow) throws -> Operation {
    run(
      """
      INSERT INTO credentials (name, sealed) VALUES (?, ?)
      ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed
      """,
      [row.name, try sealer.seal(row)])
  }

  private func upsert(_ row: ConsentRow) throws -> Operation {
    run(
      """
      INSERT INTO consents (account, client, grant_name, expires_at, sealed)
      VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (account, client, grant_name) DO UPDATE SET
        expires_at = excluded.expires_at, sealed = excluded.sealed
      """,
      [
        row.account.rawValue, row.client, row.grant, row.expiresAt.milliseconds,
        try sealer.seal(row),
      ])
  }

  private func upsert(_ row: LocalAuthRow) throws -> Operation {
    run(
      """
      INSERT INTO local_auth (realm, uid, sealed) VALUES (?, ?, ?)
      ON CONFLICT (realm, uid) DO UPDATE SET sealed = excluded.sealed
      """,
      [row.realm, row.uid, try sealer.seal(row)])
  }

  private func upsert(_ row: ConfirmationRow) throws -> Operation {
    run(
      """
      INSERT INTO confirmations (realm, uid, client, question, expires_at, sealed)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (realm, uid, client, question) DO UPDATE SET
        expires_at = excluded.expires_at, sealed = excluded.sealed
      """,
      [
        row.realm, row.uid, row.client, row.question, row.expiresAt.milliseconds,
        try sealer.seal(row),
      ])
  }

  private func upsert(_ row: OwnerRow) throws -> Operation {
    run(
      """
      INSERT INTO owners (realm, uid, is_withheld, sealed) VALUES (?, ?, ?, ?)
      ON CONFLICT (realm, uid) DO UPDATE SET
        is_withheld = excluded.is_withheld, sealed = excluded.sealed
      """,
      [row.realm, row.uid, row.isWithheld, try sealer.seal(row)])
  }

  private func upsert(_ row: NoteRow) throws -> Operation {
    run(
      """
      INSERT INTO notes (name, sealed) VALUES (?, ?)
      ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed
      """,
      [row.name, try sealer.seal(row)])
  }
}

extension Change {
  /// The rows of a guarded table that the change can add, replace or delete; nil if there are none.
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
    GuardedRows(
      .consents, "account = ? AND client = ? AND grant_name = ?",
      [account.rawValue, client, grant])
  }

  fileprivate static func localAuth(_ realm: String, _ uid: UInt32) -> GuardedRows {
    GuardedRows(.localAuth, "realm = ? AND uid = ?", [realm, uid])
  }

  fileprivate static func confirmation(
    _ realm: String, _ uid: UInt32, _ client: String, _ question: String
  ) -> GuardedRows {
    GuardedRows(
      .confirmations, "realm = ? AND uid = ? AND client = ? AND question = ?",
      [realm, uid, client, question])
  }
}
