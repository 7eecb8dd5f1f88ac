/// One `[[client]]`: what callers that look like this may do.
package struct ClientRule: SettingsSection {
  /// What the audit calls the rule; shaped like a provider's name.
  package var name: String
  package var match: ClientMatch
  /// What is allowed; an empty list forbids everything.
  package var allow: [AccessPattern]
  /// Seconds within which the client's person must have been authenticated on this machine for the
  /// rule to hand out a token or a one-time code; nil: that is not asked.
  package var requireLocalAuthSeconds: Int?

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
  }
}

/// Who a rule is about: everything that is given must hold.
package struct ClientMatch: SettingsSection {
  /// A unit of the system instance by its full name, such as `till.service`.
  package var unit: String?
  package var user: Principal?
  /// The primary or a supplementary group.
  package var group: Principal?
  /// The absolute path of the program, known only where the kernel lets the daemon read it.
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
    table.setting(&unit, "unit") { unit in
      let isName = unit.consists(upTo: 255) { $0.isWordByte || $0.isOne(of: ":-.@\\") }
      let hasType = unit.hasSuffix(".service") || unit.hasSuffix(".scope")
      return isName && hasType ? nil : "must be a unit's full name, such as \"till.service\""
    }
    table.setting(&user, "user")
    table.setting(&group, "group")
    table.setting(&executable, "executable") { path in
      path.isAbsolutePath ? nil : "must be an absolute path"
    }
    table.needsOneSetting()
  }
}
