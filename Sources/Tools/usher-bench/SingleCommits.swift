import GRDBSQLite
import Glibc

/// The reference for durable writes: commits transitions of flows one at a time to a SQLite
/// database, through the C library alone. The database has the same settings as the daemon's.
final class SingleCommits {
  private var database: OpaquePointer?
  private let directory: ScratchDirectory
  private let sealed: [UInt8]
  private var begin, put, append, commit: OpaquePointer?
  private var count: Int64 = 0

  /// The transitions of one flow: started, advanced, ended.
  private static let transitions: Int64 = 3

  /// - Parameter sealedBytes: The length of the sealed part of a flow's row.
  init(sealedBytes: Int) throws {
    directory = try ScratchDirectory()
    sealed = (0..<max(1, sealedBytes)).map { _ in UInt8.random(in: .min ... .max) }
    guard sqlite3_open(directory.file("reference.db"), &database) == SQLITE_OK else {
      throw BenchError("cannot open a database in \(directory.path)")
    }
    try run(
      """
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA secure_delete = ON;
      PRAGMA journal_size_limit = 4194304;
      PRAGMA temp_store = MEMORY;
      PRAGMA cell_size_check = ON;
      CREATE TABLE flows (
        id TEXT NOT NULL PRIMARY KEY, realm TEXT NOT NULL, uid INTEGER NOT NULL,
        client TEXT NOT NULL, provider TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
        revision INTEGER NOT NULL, expires_at INTEGER NOT NULL, sealed BLOB NOT NULL
      ) STRICT;
      CREATE TABLE journal (
        sequence INTEGER NOT NULL PRIMARY KEY,
        flow TEXT NOT NULL REFERENCES flows (id) ON DELETE CASCADE,
        revision INTEGER NOT NULL, state TEXT NOT NULL, status TEXT NOT NULL, step_type TEXT,
        at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX journal_by_flow ON journal (flow, revision);
      """)
    begin = try prepare("BEGIN IMMEDIATE")
    put = try prepare(
      """
      INSERT INTO flows
        (id, realm, uid, client, provider, kind, status, revision, expires_at, sealed)
      VALUES (?1, 'local', 1000, '', 'wallet', 'authorize', 'active', ?2, 0, ?3)
      ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, sealed = excluded.sealed
      """)
    append = try prepare(
      """
      INSERT INTO journal (flow, revision, state, status, step_type, at)
      VALUES (?1, ?2, 'authorizing', 'active', 'openURL', 0)
      """)
    commit = try prepare("COMMIT")
  }

  deinit {
    for statement in [begin, put, append, commit] { sqlite3_finalize(statement) }
    sqlite3_close(database)
  }

  /// - Returns: The commits per second.
  func perSecond(for seconds: Double) throws -> Double {
    let (start, before) = (BlockingClient.now(), count)
    let end = start + UInt64(seconds * 1_000_000_000)
    var now = start
    while now < end {
      try writeOne()
      now = BlockingClient.now()
    }
    return Double(count - before) * 1_000_000_000 / Double(now - start)
  }

  private func writeOne() throws {
    let id = Array("flw_\(1_000_000_000_000_000 + count / Self.transitions)0123456789".utf8)
    let revision = count % Self.transitions + 1
    try step(begin)
    try bind(put, id, revision)
    _ = sealed.withUnsafeBytes {
      sqlite3_bind_blob(put, 3, $0.baseAddress, CInt($0.count), Self.copies)
    }
    try step(put)
    try bind(append, id, revision)
    try step(append)
    try step(commit)
    count += 1
  }

  /// `SQLITE_TRANSIENT`: SQLite copies the value.
  private static var copies: sqlite3_destructor_type {
    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }

  private func bind(_ statement: OpaquePointer?, _ id: [UInt8], _ revision: Int64) throws {
    let result = id.withUnsafeBytes {
      sqlite3_bind_text(
        statement, 1, $0.assumingMemoryBound(to: CChar.self).baseAddress, CInt($0.count),
        Self.copies)
    }
    guard result == SQLITE_OK, sqlite3_bind_int64(statement, 2, revision) == SQLITE_OK else {
      throw failure
    }
  }

  private func step(_ statement: OpaquePointer?) throws {
    guard sqlite3_step(statement) == SQLITE_DONE, sqlite3_reset(statement) == SQLITE_OK else {
      throw failure
    }
  }

  private func prepare(_ sql: String) throws -> OpaquePointer? {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK else { throw failure }
    return statement
  }

  private func run(_ sql: String) throws {
    guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
  }

  private var failure: BenchError {
    BenchError("the reference database: \(String(cString: sqlite3_errmsg(database)))")
  }
}
