import JSONRPC
public import UsherCore

/// Checks that no row of the audit log was altered or removed.
public struct AuditVerify: Method, Equatable {
  public static let name = "audit.verify"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary = "Checks that no row of the audit log was altered or removed."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// Whether the audit log is intact, so that there are no findings.
    public var whole: Bool
    /// The number of the oldest row; absent if the log has no rows.
    public var first: Int?
    /// The number of the newest row; absent if the log has no rows.
    public var last: Int?
    /// The time at which the log was created. A later time than expected means that the whole log
    /// was replaced.
    public var begunAt: Timestamp
    /// The rows that were altered or removed, and other defects; empty if the log is intact.
    public var findings: [AuditVerify.Finding]

    public init(
      whole: Bool, first: Int? = nil, last: Int? = nil, begunAt: Timestamp,
      findings: [AuditVerify.Finding]
    ) {
      self.whole = whole
      self.first = first
      self.last = last
      self.begunAt = begunAt
      self.findings = findings
    }
  }

  public struct Finding: Codable, Sendable, Equatable, SchemaDocumented {
    /// The number of the first row that the finding concerns; absent if it concerns no row.
    public var n: Int?
    /// The finding as a sentence, such as `row 17 was altered: it does not open`.
    public var message: String

    public init(n: Int? = nil, message: String) {
      self.n = n
      self.message = message
    }
  }

  public static let example = MethodExample(
    [:],
    returns: ["whole": true, "first": 1, "last": 17, "begunAt": .exampleTime, "findings": []])
}
