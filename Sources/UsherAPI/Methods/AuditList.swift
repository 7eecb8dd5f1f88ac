public import UsherCore

/// Who got what, the oldest first (Audit.md).
public struct AuditList: Method, Equatable {
  public static let name = "audit.list"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let summary = "Who got what, the oldest first."

  // Each that is there narrows the list.
  /// From this moment on.
  public var since: Timestamp?
  /// Up to this moment.
  public var until: Timestamp?
  public var client: String?
  public var uid: UInt32?
  public var account: AccountID?
  public var method: String?
  public var provider: ProviderName?
  /// True: only what was denied; false: only what was allowed.
  public var denied: Bool?
  /// Rows after this number: ``Reply/next`` of the reply before.
  public var after: Int?
  /// From 1 to 1000; default: 100.
  public var limit: Int?

  public init(
    since: Timestamp? = nil, until: Timestamp? = nil, client: String? = nil, uid: UInt32? = nil,
    account: AccountID? = nil, method: String? = nil, provider: ProviderName? = nil,
    denied: Bool? = nil, after: Int? = nil, limit: Int? = nil
  ) {
    self.since = since
    self.until = until
    self.client = client
    self.uid = uid
    self.account = account
    self.method = method
    self.provider = provider
    self.denied = denied
    self.after = after
    self.limit = limit
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var rows: [AuditList.Entry]
    /// The numbers of rows on the way that do not open: `audit.verify` says more.
    public var unreadable: [Int]?
    /// For `after`, where there may be more. It may be there with fewer rows than `limit`: one call
    /// looks at some thousand.
    public var next: Int?

    public init(rows: [AuditList.Entry], unreadable: [Int]? = nil, next: Int? = nil) {
      self.rows = rows
      self.unreadable = unreadable
      self.next = next
    }
  }

  public struct Entry: Codable, Sendable, Equatable {
    /// From 1, without gaps.
    public var n: Int
    /// Of a row for several calls, when the last of them was.
    public var at: Timestamp
    public var method: String
    public var provider: ProviderName?
    public var kind: String?
    public var account: AccountID?
    /// Of the token that was given.
    public var scope: String?
    /// The names of the members of a profile that were given.
    public var fields: [String]?
    public var decision: Decision
    /// Which rule decided: `till`, `(user)`, `(root)`, `(admin)`, ….
    public var rule: String
    /// What the rule asked of the call, and whether it held: `local_auth`, `confirm`, `hours`,
    /// `scope`, `account`.
    public var conditions: [String: Bool]?
    /// `ok`, or the error's reason: what is allowed is not yet given.
    public var outcome: String
    public var client: String
    public var uid: UInt32
    public var gid: UInt32
    public var pid: Int
    public var unit: String?
    /// The unit's run: systemd's invocation id.
    public var invocation: String?
    public var executable: String?
    public var flow: FlowID?
    /// The uid whose things an operator accepted or forgot.
    public var owner: UInt32?
    /// As in the error's data and the journal; of several calls, the last one's.
    public var correlationId: CorrelationID?
    /// How many calls it stands for.
    public var count: Int

    public enum Decision: String, Codable, Sendable, CaseIterable { case allowed, denied }

    public init(
      n: Int, at: Timestamp, method: String, provider: ProviderName? = nil, kind: String? = nil,
      account: AccountID? = nil, scope: String? = nil, fields: [String]? = nil,
      decision: Decision, rule: String, conditions: [String: Bool]? = nil, outcome: String,
      client: String, uid: UInt32, gid: UInt32, pid: Int, unit: String? = nil,
      invocation: String? = nil, executable: String? = nil, flow: FlowID? = nil,
      owner: UInt32? = nil, correlationId: CorrelationID? = nil, count: Int = 1
    ) {
      self.n = n
      self.at = at
      self.method = method
      self.provider = provider
      self.kind = kind
      self.account = account
      self.scope = scope
      self.fields = fields
      self.decision = decision
      self.rule = rule
      self.conditions = conditions
      self.outcome = outcome
      self.client = client
      self.uid = uid
      self.gid = gid
      self.pid = pid
      self.unit = unit
      self.invocation = invocation
      self.executable = executable
      self.flow = flow
      self.owner = owner
      self.correlationId = correlationId
      self.count = count
    }
  }
}
