public import UsherCore

/// Whether the record of who got what is whole (Audit.md).
public struct AuditVerify: Method, Equatable {
  public static let name = "audit.verify"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let summary = "Whether the record of who got what is whole."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    /// Whether there is no finding.
    public var whole: Bool
    /// The numbers of the rows that are kept; absent while there is none.
    public var first: Int?
    public var last: Int?
    /// When the record was begun. A later time than expected means that all of it was replaced.
    public var begunAt: Timestamp
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

  public struct Finding: Codable, Sendable, Equatable {
    /// The row it begins at; absent where it is about no row.
    public var n: Int?
    /// `row 17 was altered: it does not open`.
    public var message: String

    public init(n: Int? = nil, message: String) {
      self.n = n
      self.message = message
    }
  }
}
