import GRDB
import UsherCore

/// An error of SQLite for the log. It contains neither SQL text nor values.
package struct SQLiteError: Error, Equatable {
  /// SQLite's extended result code.
  package let code: Int32
  package let message: String?
}

/// A system call that failed, as the cause of an `UsherError`.
package struct SystemCallError: Error, Equatable {
  package let call: String
  package let errno: Int32
}

extension UsherError {
  /// Converts a database error to an `UsherError`; returns an `UsherError` unchanged.
  static func storage(_ error: any Error) -> UsherError {
    if let error = error as? UsherError { return error }
    guard let error = error as? DatabaseError else {
      return UsherError(.internalError, "the store failed", cause: error)
    }
    let fault = SQLiteError(code: error.extendedResultCode.rawValue, message: error.message)
    switch error.extendedResultCode {
    case .SQLITE_CONSTRAINT_FOREIGNKEY:
      return UsherError(
        .notFound, "the account or flow to which this change belongs was deleted", cause: fault)
    case .SQLITE_CONSTRAINT:
      return UsherError(
        .internalError, "the store refused a change that conflicts with stored data", cause: fault)
    default:
      return UsherError(.storageUnavailable, sentence(for: error.resultCode), cause: fault)
    }
  }

  private static func sentence(for code: ResultCode) -> String {
    switch code {
    case .SQLITE_FULL: "the database cannot grow: the disk is full"
    case .SQLITE_READONLY: "the database cannot be written: it is read-only"
    case .SQLITE_IOERR: "the disk under the database failed a read or a write"
    case .SQLITE_CORRUPT: "the database is damaged"
    case .SQLITE_NOTADB: "the database is damaged, or not a database"
    case .SQLITE_BUSY, .SQLITE_LOCKED: "another program has locked the database"
    case .SQLITE_CANTOPEN, .SQLITE_PERM: "the database cannot be opened"
    case .SQLITE_MISUSE: "the store is closed"
    default: "the database failed"
    }
  }
}
