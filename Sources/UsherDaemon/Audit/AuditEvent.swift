import UsherCore

/// What one call was and how it ended, as the audit is told. It never has a secret in it.
struct AuditEvent: Sendable, Equatable {
  enum Decision: String, Sendable, Codable, CaseIterable { case allowed, denied }

  var method: String
  var provider: ProviderName?
  var kind: String?
  var account: AccountID?
  /// The scope of the token that was given.
  var scope: String?
  /// The names of the members of a profile that were given, in a fixed order.
  var fields: [String]
  var decision: Decision
  /// Which rule decided: `till`, `(user)`, `(root)`, `(admin)`, …
  var rule: String
  /// What was asked of the call.
  var conditions: AuditConditions
  /// Those of ``conditions`` that did not hold.
  var unmet: AuditConditions
  /// Why nothing was given, also where the call was allowed; nil where it succeeded.
  var failure: UsherError.Reason?
  var flow: FlowID?
  /// The user whose things an operator accepted or forgot.
  var owner: UInt32?
  /// The same as in the error's data and the journal; of a row for many calls, the last one's.
  var correlationID: String

  init(
    method: String, provider: ProviderName? = nil, kind: String? = nil, account: AccountID? = nil,
    scope: String? = nil, fields: [String] = [], decision: Decision, rule: String,
    conditions: AuditConditions = [], unmet: AuditConditions = [],
    failure: UsherError.Reason? = nil, flow: FlowID? = nil, correlationID: String
  ) {
    self.method = method
    self.provider = provider
    self.kind = kind
    self.account = account
    self.scope = scope
    self.fields = fields
    self.decision = decision
    self.rule = rule
    self.conditions = conditions
    self.unmet = unmet
    self.failure = failure
    self.flow = flow
    self.correlationID = correlationID
  }
}

/// What a rule may ask of a call (Access.md § Rules).
struct AuditConditions: OptionSet, Sendable, Hashable {
  let rawValue: UInt8

  static let localAuth = AuditConditions(rawValue: 1 << 0)
  static let confirm = AuditConditions(rawValue: 1 << 1)
  static let hours = AuditConditions(rawValue: 1 << 2)
  static let scope = AuditConditions(rawValue: 1 << 3)
  static let account = AuditConditions(rawValue: 1 << 4)

  private static let names: [(AuditConditions, String)] = [
    (.localAuth, "local_auth"), (.confirm, "confirm"), (.hours, "hours"), (.scope, "scope"),
    (.account, "account"),
  ]

  /// In the words of the audit's rows.
  var names: [String] { Self.names.filter { contains($0.0) }.map(\.1) }
}

/// Who called, as of the connection: made once for each.
///
/// Equal where it is the same process of the same client, whichever connection it came by.
struct AuditedCaller: Sendable {
  let client: String
  let uid: UInt32
  let gid: UInt32
  let pid: Int32
  let unit: String?
  let invocation: String?
  let executable: String?
  /// Of all of the above: a caller is looked up at every call.
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
