/// One `[[client]]` rule: the calls that the callers which match it may make.
package struct ClientRule: SettingsSection {
  /// The client's name, also in the audit log; it has the syntax of a provider's name.
  package var name: String
  package var match: ClientMatch
  /// The RPC calls that the client may make; an empty list allows none.
  package var allow: [AccessPattern]
  /// The maximum age, in seconds, of the client's last local authentication for a call that returns
  /// a token or a one-time code, or starts a flow that uses an account's token, such as
  /// `operation`. Nil means that none is required.
  package var requireLocalAuthSeconds: Int?
  /// The accounts to which the rule is limited; nil means every account that the caller has.
  package var accounts: [AccountSelector]?
  /// The OAuth scopes that a token for the client may have at most; nil means any.
  package var scopes: [String]?
  /// The audiences for which the client may request a token; the empty text stands for a token
  /// without an audience. Nil means any.
  package var audiences: [String]?
  /// The members of an account's profile that the client may see; nil means all.
  package var fields: [String]?
  /// The hours in which the rule allows calls, in local time; nil means always.
  package var hours: [OpeningHours]?
  /// Whether a person must confirm the calls that the rule allows.
  package var confirm = false
  /// The clients whose questions this client may answer (`confirm.answer`).
  package var confirms: [String] = []
  /// The owner of the accounts and flows that the client creates.
  package var owner = Ownership.user
  /// The clients that may read the accounts of this client.
  package var share: [String] = []

  /// The owner of the accounts and flows that a client creates.
  package enum Ownership: String, TextSetting, Codable, CaseIterable, Sendable {
    /// The user that the caller runs as.
    case user
    /// The client, whichever user it runs as.
    case client
  }

  package init(
    name: String, match: ClientMatch, allow: [AccessPattern], requireLocalAuthSeconds: Int? = nil
  ) {
    self.name = name
    self.match = match
    self.allow = allow
    self.requireLocalAuthSeconds = requireLocalAuthSeconds
  }

  package static var blank: ClientRule { ClientRule(name: "", match: .blank, allow: []) }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&name, "name", violation: \.configNameViolation)
    table.table(&match, "match", isRequired: true)
    table.required(&allow, "allow")
    table.setting(&requireLocalAuthSeconds, "require_local_auth_seconds") { seconds in
      (1...86_400).contains(seconds) ? nil : "must be between 1 and 86400, is \(seconds)"
    }
    table.setting(&accounts, "accounts")
    table.setting(&scopes, "scopes") { Self.violation($0, "scopes", of: \.isScopeByte) }
    table.setting(&audiences, "audiences") { audiences in
      audiences.allSatisfy { $0.isEmpty || $0.isAudience } ? nil : "must be audiences of tokens"
    }
    table.setting(&fields, "fields") { Self.violation($0, "members", of: \.isVisible) }
    table.setting(&hours, "hours") { $0.isEmpty ? "must have at least one entry" : nil }
    table.setting(&confirm, "confirm")
    table.setting(&confirms, "confirms")
    table.setting(&owner, "owner")
    table.setting(&share, "share")
    if !share.isEmpty, owner != .client {
      table.reportProblem(
        "share", "needs owner = \"client\": a client cannot share a user's accounts")
    }
  }
}

extension ClientRule {
  private static func violation(
    _ words: [String], _ kind: String, of isAllowed: (UInt8) -> Bool
  ) -> String? {
    let areValid = words.allSatisfy { $0.consists(upTo: 256, of: isAllowed) }
    return areValid ? nil : "must be names of \(kind)"
  }
}

extension UInt8 {
  /// Whether the byte may occur in a scope: `NQCHAR` of RFC 6749 §3.3.
  var isScopeByte: Bool { isVisible && !isOne(of: "\"\\") }
}

/// The conditions by which a `[[client]]` rule matches a caller: every condition that is set must
/// hold.
package struct ClientMatch: SettingsSection {
  /// The full name of the caller's unit of the system manager, such as `till.service`.
  package var unit: String?
  package var user: Principal?
  /// The group that must be the caller's primary group or one of its supplementary groups.
  package var group: Principal?
  /// The absolute path of the caller's program.
  ///
  /// If the daemon does not run as root, the kernel reports only the programs of processes of the
  /// daemon's own user. A caller whose program is not reported has no rights if a rule with this
  /// condition may match it.
  package var executable: String?

  package init(
    unit: String? = nil, user: Principal? = nil, group: Principal? = nil, executable: String? = nil
  ) {
    self.unit = unit
    self.user = user
    self.group = group
    self.executable = executable
  }

  package static var blank: ClientMatch { ClientMatch() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&unit, "unit", violation: Self.violation(unit:))
    table.setting(&user, "user")
    table.setting(&group, "group")
    table.setting(&executable, "executable", violation: Self.violation(executable:))
    table.needsOneSetting()
  }

  /// Returns why the name of a unit is invalid; nil if it is valid.
  static func violation(unit: String) -> String? {
    let isName = unit.consists(upTo: 255) { $0.isWordByte || $0.isOne(of: ":-.@\\") }
    let hasType = unit.hasSuffix(".service") || unit.hasSuffix(".scope")
    return isName && hasType ? nil : "must be a unit's full name, such as \"till.service\""
  }

  static func violation(executable: String) -> String? {
    executable.isAbsolutePath ? nil : "must be an absolute path"
  }
}
