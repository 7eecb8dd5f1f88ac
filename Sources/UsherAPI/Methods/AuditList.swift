import JSONRPC
public import UsherCore

/// Returns rows of the audit log, the oldest first.
public struct AuditList: Method, Equatable {
  public static let name = "audit.list"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary = "Returns rows of the audit log, the oldest first."
  public static let discussion = "Each filter that is given must match."

  // A row is returned if it matches each filter that is given.
  /// The earliest time of the returned rows, inclusive; default: no limit.
  public var since: Timestamp?
  /// The latest time of the returned rows, inclusive; default: no limit.
  public var until: Timestamp?
  /// Returns only the calls of this client, by the name of its rule.
  public var client: String?
  /// Returns only the calls of this user.
  public var uid: UInt32?
  /// Returns only the calls about this account.
  public var account: AccountID?
  /// Returns only the calls of this method.
  public var method: String?
  /// Returns only the calls about this provider.
  public var provider: ProviderName?
  /// True returns only denied calls, false only allowed ones; default: both.
  public var denied: Bool?
  /// The row number after which the list begins: ``Reply/next`` of the previous reply.
  public var after: Int?
  /// The maximum number of rows, from 1 to 1000; default 100.
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

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The rows, the oldest first.
    public var rows: [AuditList.Entry]
    /// The numbers of the scanned rows that failed to decrypt; `audit.verify` gives details about
    /// them.
    public var unreadable: [Int]?
    /// The value of `after` for the next call; absent if there are no more rows. A reply may have
    /// fewer rows than `limit` and still have a next one, because a call scans a limited number of
    /// rows.
    public var next: Int?

    public init(rows: [AuditList.Entry], unreadable: [Int]? = nil, next: Int? = nil) {
      self.rows = rows
      self.unreadable = unreadable
      self.next = next
    }
  }

  /// One row of the audit log. It represents one call, or several similar calls.
  public struct Entry: Codable, Sendable, Equatable, SchemaDocumented {
    /// The number of the row. Numbers begin at 1 and have no gaps.
    public var n: Int
    /// The time of the call; if the row represents several calls, the time of the last one.
    public var at: Timestamp
    /// The method that was called.
    public var method: String
    /// The provider that the call was about; absent if it was about none.
    public var provider: ProviderName?
    /// The kind of the flow; absent if the call was about no flow.
    public var kind: String?
    /// The account that the call was about; absent if it was about none.
    public var account: AccountID?
    /// The OAuth scope of the token that the call returned; absent if it returned no token.
    public var scope: String?
    /// The audience of the token that the call returned; absent if it has none.
    public var audience: String?
    /// The target whose token the call requested, such as `git/https://git.example/*`, or what the
    /// caller asked for if no target answers; absent if the call is about no target.
    public var target: String?
    /// The names of the members of an account's profile that the call returned; absent if it
    /// returned none.
    public var fields: [String]?
    /// Whether the policy allowed the call.
    public var decision: Decision
    /// The client rule that decided the call, such as `till`, or a built-in one such as `(user)`,
    /// `(root)` or `(admin)`.
    public var rule: String
    /// The conditions of the rule, and whether each was met. The keys are `local_auth`, `confirm`,
    /// `hours`, `scope`, `audience` and `account`.
    public var conditions: [String: Bool]?
    /// `ok`, or the reason of the error. A call that the policy allowed can still fail.
    public var outcome: String
    /// The name of the client's rule; `(user)` for a caller that no rule names.
    public var client: String
    /// The uid of the caller's process.
    public var uid: UInt32
    /// The primary gid of the caller's process.
    public var gid: UInt32
    /// The id of the caller's process.
    public var pid: Int
    /// The systemd unit of the caller's process; absent if it is unknown.
    public var unit: String?
    /// The systemd invocation id of the caller's unit, which is new at each start of the unit.
    public var invocation: String?
    /// The path of the caller's program; absent if it is unknown.
    public var executable: String?
    /// The flow that the call was about; absent if it was about none.
    public var flow: FlowID?
    /// The uid that an operator passed to `owner.accept` or `owner.forget`; absent for other
    /// methods.
    public var owner: UInt32?
    /// The correlation id of the call, which the `data` of its error and the journal have, too. If
    /// the row represents several calls, the id of the last call.
    public var correlationId: CorrelationID?
    /// The number of calls that the row represents.
    public var count: Int

    public enum Decision: String, Codable, Sendable, CaseIterable { case allowed, denied }

    public init(
      n: Int, at: Timestamp, method: String, provider: ProviderName? = nil, kind: String? = nil,
      account: AccountID? = nil, scope: String? = nil, audience: String? = nil,
      target: String? = nil, fields: [String]? = nil,
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
      self.audience = audience
      self.target = target
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

  public static let example = MethodExample(
    ["limit": 1, "denied": false], returns: ["rows": [.exampleAuditRow], "next": 17])
}
