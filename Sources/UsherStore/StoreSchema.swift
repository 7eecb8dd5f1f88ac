import GRDB

/// The database schema and its migrations.
enum StoreSchema {
  /// "Ushr": the `application_id` in the SQLite header of usherd's databases.
  static let applicationID: Int32 = 0x5573_6872

  /// The schema version that this usherd writes, in SQLite's `user_version`.
  static var version: Int { migrations.count }

  /// The ``SchemaListing/digest`` of the current version. Comparing it at each start is a
  /// millisecond faster than creating the tables in memory for comparison, which is done if the
  /// digest differs.
  static let digest = "TZTbVeUAq/IHwufl7rZtzQ08lkueI11tNdpuKeajfIs="

  /// The migrations from each version to the next. A released migration is never edited.
  private static let migrations = [first, second, version3, version4, version5]
  static let firstWithAudit = 3
  /// The first version with authenticated row sets (``RowSets``).
  static let firstWithRowSets = 5

  /// Migrates an older or empty database to the current version in one transaction.
  ///
  /// - Parameter complete: Writes the rows that SQL alone cannot create, such as encrypted ones. It
  ///   is given the version from which the migration starts.
  static func migrate(
    _ db: Database, complete: (Database, _ earlier: Int) throws -> Void
  ) throws {
    let present = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    guard present < version else { return }
    try db.inTransaction(.immediate) {
      for step in migrations[present...] { try db.execute(sql: step) }
      try complete(db, present)
      try db.execute(sql: "PRAGMA user_version = \(version)")
      return .commit
    }
  }

  /// Creates the empty tables of the given schema version.
  static func create(_ version: Int, in db: Database) throws {
    for step in migrations.prefix(version) { try db.execute(sql: step) }
  }

  /// Key slots, flows, accounts, tokens and credentials. Times are milliseconds since 1970. A
  /// missing client is an empty text, because NULLs are never equal in SQL and would defeat the
  /// unique constraints.
  private static let first = """
    CREATE TABLE key_slots (
      kind TEXT NOT NULL,
      host TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      wrapped BLOB NOT NULL,
      PRIMARY KEY (kind, host)
    ) STRICT;
    CREATE TABLE flows (
      id TEXT NOT NULL PRIMARY KEY,
      realm TEXT NOT NULL,
      uid INTEGER NOT NULL,
      client TEXT NOT NULL,
      provider TEXT NOT NULL,
      kind TEXT NOT NULL,
      status TEXT NOT NULL,
      revision INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      sealed BLOB NOT NULL
    ) STRICT;
    CREATE TABLE journal (
      sequence INTEGER NOT NULL PRIMARY KEY,
      flow TEXT NOT NULL REFERENCES flows (id) ON DELETE CASCADE,
      revision INTEGER NOT NULL,
      state TEXT NOT NULL,
      status TEXT NOT NULL,
      step_type TEXT,
      at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX journal_by_flow ON journal (flow, revision);
    CREATE TABLE requests (
      realm TEXT NOT NULL,
      uid INTEGER NOT NULL,
      client TEXT NOT NULL,
      provider TEXT NOT NULL,
      request_id TEXT NOT NULL,
      flow TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      PRIMARY KEY (realm, uid, client, provider, request_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX requests_by_expiry ON requests (expires_at);
    CREATE TABLE accounts (
      id TEXT NOT NULL PRIMARY KEY,
      realm TEXT NOT NULL,
      uid INTEGER NOT NULL,
      client TEXT NOT NULL,
      provider TEXT NOT NULL,
      subject_tag BLOB NOT NULL,
      sealed BLOB NOT NULL,
      UNIQUE (realm, uid, client, provider, subject_tag)
    ) STRICT;
    CREATE TABLE tokens (
      account TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      audience TEXT NOT NULL,
      scope TEXT NOT NULL,
      expires_at INTEGER,
      status TEXT NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (account, audience, scope)
    ) STRICT;
    CREATE TABLE credentials (
      name TEXT NOT NULL PRIMARY KEY,
      sealed BLOB NOT NULL
    ) STRICT;
    """

  /// Adds consents and local authentication.
  private static let second = """
    CREATE TABLE consents (
      account TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      client TEXT NOT NULL,
      grant_name TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (account, client, grant_name)
    ) STRICT;
    CREATE TABLE local_auth (
      realm TEXT NOT NULL,
      uid INTEGER NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (realm, uid)
    ) STRICT;
    """

  /// Adds notes, the audit log and confirmations. The column `hash` of `audit` contains the hash of
  /// the previous row.
  private static let version3 = """
    CREATE TABLE notes (
      name TEXT NOT NULL PRIMARY KEY,
      sealed BLOB NOT NULL
    ) STRICT;
    CREATE TABLE audit (
      n INTEGER NOT NULL PRIMARY KEY,
      at INTEGER NOT NULL,
      sealed BLOB NOT NULL,
      hash BLOB NOT NULL
    ) STRICT;
    CREATE INDEX audit_by_time ON audit (at);
    CREATE TABLE confirmations (
      realm TEXT NOT NULL,
      uid INTEGER NOT NULL,
      client TEXT NOT NULL,
      question TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (realm, uid, client, question)
    ) STRICT;
    """

  /// Adds columns and indexes by which accounts are found without decrypting all of them. In older
  /// rows both columns are unknown: `wake_at` is 0, which means at once, and `call_tag` is empty.
  private static let version4 = """
    ALTER TABLE accounts ADD COLUMN wake_at INTEGER DEFAULT 0;
    CREATE INDEX accounts_by_waking ON accounts (wake_at) WHERE wake_at IS NOT NULL;
    ALTER TABLE accounts ADD COLUMN call_tag BLOB DEFAULT x'';
    CREATE INDEX accounts_by_call ON accounts (provider, call_tag) WHERE call_tag IS NOT NULL;
    CREATE INDEX consents_by_expiry ON consents (expires_at);
    CREATE INDEX requests_by_id ON requests (provider, request_id);
    """

  /// Adds the users to whom uids were assigned. From this version on, notes contain the row sets
  /// (``RowSets``) and the mark that the daemon is unlocked.
  ///
  /// `WITHOUT ROWID`: a look-up by key reads the table itself, so a manipulated index cannot hide a
  /// row.
  private static let version5 = """
    CREATE TABLE owners (
      realm TEXT NOT NULL,
      uid INTEGER NOT NULL,
      is_withheld INTEGER NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (realm, uid)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX owners_withheld ON owners (realm, uid) WHERE is_withheld = 1;
    """
}
