/// One `[[client]]`: what callers that look like this may do.
package struct ClientRule: SettingsSection {
  /// What the audit calls the rule; shaped like a provider's name.
  package var name: String
  package var match: ClientMatch
  /// What is allowed; an empty list forbids everything.
  package var allow: [AccessPattern]
  /// Seconds within which the client's person must have been authenticated on this machine for the
  /// rule to hand out a token or a one-time code, or to start a flow that uses an account's token
  /// (`operation` is one); nil: that is not asked.
  package var requireLocalAuthSeconds: Int?
  /// Which accounts it is about; nil: all that the caller has.
  package var accounts: [AccountSelector]?
  /// The most that a token may be good for; nil: anything.
  package var scopes: [String]?
  /// The members of a profile that are shown; nil: all.
  package var fields: [String]?
  /// When it holds, in the machine's time; nil: always.
  package var hours: [OpeningHours]?
  /// Whether somebody has to agree to what it allows.
  package var confirm = false
  /// The clients whose questions for a confirmation this one answers.
  package var confirms: [String] = []
  /// Whose what the client brings is.
  package var owner = Ownership.user
  /// The clients that may read the accounts of this one.
  package var share: [String] = []

  /// Whose accounts and flows are.
  package enum Ownership: String, TextSetting, Codable, CaseIterable, Sendable {
    /// The user's who calls.
    case user
    /// The client's, whichever user it runs as.
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
    table.required(&name, "name") { name in
      name.isConfigName
        ? nil : "must be up to 64 of a-z 0-9 . _ - and begin with a letter or digit"
    }
    table.table(&match, "match", isRequired: true)
    table.required(&allow, "allow")
    table.setting(&requireLocalAuthSeconds, "require_local_auth_seconds") { seconds in
      (1...86_400).contains(seconds) ? nil : "must be between 1 and 86400, is \(seconds)"
    }
    table.setting(&accounts, "accounts")
    table.setting(&scopes, "scopes") { Self.complaint($0, "scopes", of: \.isScopeByte) }
    table.setting(&fields, "fields") { Self.complaint($0, "members", of: \.isVisible) }
    table.setting(&hours, "hours") { $0.isEmpty ? "must have at least one" : nil }
    table.setting(&confirm, "confirm")
    table.setting(&confirms, "confirms")
    table.setting(&owner, "owner")
    table.setting(&share, "share")
    if !share.isEmpty, owner != .client {
      table.complain("share", "needs owner = \"client\": a user's accounts are not one client's")
    }
  }
}

extension ClientRule {
  private static func complaint(
    _ words: [String], _ kind: String, of isAllowed: (UInt8) -> Bool
  ) -> String? {
    let areGood = words.allSatisfy { $0.consists(upTo: 256, of: isAllowed) }
    return areGood ? nil : "must be names of \(kind)"
  }
}

extension UInt8 {
  /// RFC 6749 §3.3, `NQCHAR`.
  fileprivate var isScopeByte: Bool { isVisible && !isOne(of: "\"\\") }
}

/// Who a rule is about: everything that is given must hold.
package struct ClientMatch: SettingsSection {
  /// A unit of the system instance by its full name, such as `till.service`.
  package var unit: String?
  package var user: Principal?
  /// The primary or a supplementary group.
  package var group: Principal?
  /// The absolute path of the program. The kernel tells a daemon that is not root the programs of its
  /// own user's processes only; callers whose program it does not tell have no right.
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
    table.setting(&unit, "unit", complaint: Self.complaint(unit:))
    table.setting(&user, "user")
    table.setting(&group, "group")
    table.setting(&executable, "executable", complaint: Self.complaint(executable:))
    table.needsOneSetting()
  }

  /// What is wrong with a unit's name, or nil.
  static func complaint(unit: String) -> String? {
    let isName = unit.consists(upTo: 255) { $0.isWordByte || $0.isOne(of: ":-.@\\") }
    let hasType = unit.hasSuffix(".service") || unit.hasSuffix(".scope")
    return isName && hasType ? nil : "must be a unit's full name, such as \"till.service\""
  }

  static func complaint(executable: String) -> String? {
    executable.isAbsolutePath ? nil : "must be an absolute path"
  }
}
