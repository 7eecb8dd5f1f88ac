import UsherCore

/// One RPC call and its outcome, for the audit log. It never contains a secret.
struct AuditEvent: Sendable, Equatable {
  enum Decision: String, Sendable, Codable, CaseIterable { case allowed, denied }

  var method: String
  var provider: ProviderName?
  var kind: String?
  var account: AccountID?
  /// The target that answered, or what the caller asked for if none did; nil if the call names
  /// nothing for targets.
  var target: String?
  /// The OAuth scope of the token that the call handed out; nil if it handed out none.
  var scope: String?
  /// The audience of that token; nil if the call named none.
  var audience: String?
  /// The names of the profile members that the call handed out, in a fixed order.
  var fields: [String] = []
  var decision: Decision
  /// The name of the client rule that decided the call, such as `till`, or of a built-in rule:
  /// `(user)`, `(root)`, `(admin)`, …
  var rule: String
  /// The conditions of the rule that applied to the call.
  var conditions: AuditConditions = []
  var unmet: AuditConditions = []
  /// The error if nothing was handed out, even if the rule allowed the call; nil on success.
  var failure: UsherError.Reason?
  var flow: FlowID?
  /// The user whose objects an operator accepted or deleted (`owner.accept`, `owner.forget`).
  var owner: UInt32?
  /// The correlation ID that is also in the error's data and in the journal; in a row for several
  /// calls, that of the last one.
  var correlationID: String
}

/// The conditions that a policy rule may set for a call (Access.md § Rules).
struct AuditConditions: OptionSet, Sendable, Hashable {
  let rawValue: UInt8

  static let localAuth = AuditConditions(rawValue: 1 << 0)
  static let confirm = AuditConditions(rawValue: 1 << 1)
  static let hours = AuditConditions(rawValue: 1 << 2)
  static let scope = AuditConditions(rawValue: 1 << 3)
  static let account = AuditConditions(rawValue: 1 << 4)
  static let audience = AuditConditions(rawValue: 1 << 5)

  private static let names: [(AuditConditions, String)] = [
    (.localAuth, "local_auth"), (.confirm, "confirm"), (.hours, "hours"), (.scope, "scope"),
    (.account, "account"), (.audience, "audience"),
  ]

  /// The names of the conditions as they appear in audit rows.
  var names: [String] { Self.names.filter { contains($0.0) }.map(\.1) }
}

/// A caller as the audit log records it; created once per connection.
///
/// Two values are equal if they describe the same process of the same client, even over different
/// connections.
struct AuditedCaller: Sendable {
  let client: String
  let uid: UInt32
  let gid: UInt32
  let pid: Int32
  let unit: String?
  let invocation: String?
  let executable: String?
  /// The hash of all properties above, computed once because a caller is looked up on every call.
  private let digest: Int

  init(
    client: String, uid: UInt32, gid: UInt32, pid: Int32, unit: String? = nil,
    invocation: String? = nil, executable: String? = nil
  ) {
    self.client = client
    self.uid = uid
    self.gid = gid
    self.pid = pid
    self.unit = unit
    self.invocation = invocation
    self.executable = executable
    var hasher = Hasher()
    hasher.combine(client)
    hasher.combine(uid)
    hasher.combine(gid)
    hasher.combine(pid)
    hasher.combine(unit)
    hasher.combine(invocation)
    hasher.combine(executable)
    digest = hasher.finalize()
  }
}

extension AuditedCaller: Hashable {
  func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
