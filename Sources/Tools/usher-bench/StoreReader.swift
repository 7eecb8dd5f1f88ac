import GRDBSQLite

/// Reads a database, even while a daemon has it open.
final class StoreReader {
  private var database: OpaquePointer?

  init(_ path: String) throws {
    guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK else {
      throw BenchError("\(path) cannot be read")
    }
    sqlite3_busy_timeout(database, 5000)
  }

  deinit { sqlite3_close(database) }

  /// Returns the single number that a query yields.
  func number(_ sql: String) throws -> Int64 {
    let statement = try prepare(sql)
    defer { sqlite3_finalize(statement) }
    guard sqlite3_step(statement) == SQLITE_ROW else { throw failure }
    return sqlite3_column_int64(statement, 0)
  }

  /// Returns the first column of all rows.
  func texts(_ sql: String) throws -> [String] {
    let statement = try prepare(sql)
    defer { sqlite3_finalize(statement) }
    var texts: [String] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      guard let text = sqlite3_column_text(statement, 0) else { throw failure }
      texts.append(String(cString: text))
    }
    return texts
  }

  /// Returns the nanoseconds for reading one row by each key.
  ///
  /// - Parameter sql: A query with one parameter, the key.
  func times(_ sql: String, _ keys: [String]) throws -> [UInt64] {
    let statement = try prepare(sql)
    defer { sqlite3_finalize(statement) }
    return try keys.map { key in
      let start = BlockingClient.now()
      // The text outlives both calls, so SQLite need not copy it.
      let isThere = key.withCString { text in
        sqlite3_bind_text(statement, 1, text, -1, nil) == SQLITE_OK
          && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_bytes(statement, 0) > 0
      }
      sqlite3_reset(statement)
      guard isThere else { throw BenchError("no row has the key \(key)") }
      return BlockingClient.now() - start
    }
  }

  private func prepare(_ sql: String) throws -> OpaquePointer? {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK else { throw failure }
    return statement
  }

  private var failure: BenchError {
    BenchError("the daemon's database: \(String(cString: sqlite3_errmsg(database)))")
  }
}
