package import UsherCore

/// The content of a new row of the audit log.
package struct AuditEntry: Sendable, Hashable {
  package var at: Timestamp
  package var payload: SealedPayload

  package init(at: Timestamp, payload: SealedPayload) {
    self.at = at
    self.payload = payload
  }
}

/// A decrypted row of the audit log.
package struct AuditRow: Sendable, Hashable {
  /// The number of the row. Numbers begin at 1 and have no gaps.
  package var n: Int64
  package var at: Timestamp
  package var payload: SealedPayload
}

/// Consecutive rows of the audit log, the oldest first.
package struct AuditSlice: Sendable, Equatable {
  package var rows: [AuditRow] = []
  /// The numbers of rows that do not decrypt: something other than usherd altered or added them.
  package var unreadable: [Int64] = []
  /// The number of rows that were read, including those outside of the requested time range.
  package var scanned = 0
  /// The number of the last row that was read; nil if the range contains no more rows.
  package var end: Int64?
}

/// An inconsistency of the audit log, found by a verification.
package struct AuditFinding: Sendable, Equatable {
  /// The number of the first row concerned; nil if the finding is about the stored number and hash
  /// of the last row (``AuditHead``).
  package var n: Int64?
  /// A sentence in lower case without a period, which `usherctl` shows to the operator.
  package var message: String

  package init(_ n: Int64?, _ message: String) {
    self.n = n
    self.message = message
  }
}

/// The result of a verification of the audit log.
package struct AuditReport: Sendable, Equatable {
  /// The numbers of the first and last row that the log contains; nil if it has no rows.
  package var rows: ClosedRange<Int64>?
  /// The time at which the log was created, or rebuilt because its head was missing.
  package var begunAt: Timestamp
  /// The findings in the order of the rows. If there are more than ``maxFindings``, a last one says
  /// so.
  package var findings: [AuditFinding] = []

  /// The maximum number of findings that are reported individually.
  package static let maxFindings = 100
}
