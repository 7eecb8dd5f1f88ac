package import UsherCore

/// What is to become a row of the audit.
package struct AuditEntry: Sendable, Hashable {
  package var at: Timestamp
  package var payload: SealedPayload

  package init(at: Timestamp, payload: SealedPayload) {
    self.at = at
    self.payload = payload
  }
}

/// One row of the audit as it was written.
package struct AuditRow: Sendable, Hashable {
  /// From 1, without gaps.
  package var n: Int64
  package var at: Timestamp
  package var payload: SealedPayload

  package init(n: Int64, at: Timestamp, payload: SealedPayload) {
    self.n = n
    self.at = at
    self.payload = payload
  }
}

/// A stretch of the audit, the oldest row first.
package struct AuditStretch: Sendable, Equatable {
  package var rows: [AuditRow] = []
  /// Rows that are there and do not open: they were altered, or put there by somebody else.
  package var unreadable: [Int64] = []
  /// How many rows were looked at, whether or not their time fitted.
  package var seen = 0
  /// The last of them; nil where there was none left.
  package var end: Int64?
}

/// What is wrong with the audit.
package struct AuditFinding: Sendable, Equatable {
  /// The row it begins at; nil where it is about the head.
  package var n: Int64?
  /// A sentence: lower case, without a period.
  package var message: String

  package init(_ n: Int64?, _ message: String) {
    self.n = n
    self.message = message
  }
}

/// What became of a look at all of the audit.
package struct AuditReport: Sendable, Equatable {
  /// The numbers of the rows that are kept; nil where there is none yet.
  package var kept: ClosedRange<Int64>?
  /// When the record was begun, or begun anew.
  package var begunAt: Timestamp
  /// In the order of the rows; at most ``mostFindings`` and one that says so.
  package var findings: [AuditFinding] = []

  /// How many findings are told of one by one.
  package static let mostFindings = 100
}
