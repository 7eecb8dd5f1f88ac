/// The section `[store]`: the database of sealed tokens, flows and credentials.
package struct StoreSettings: SettingsSection {
  /// The database. A relative path is relative to the state directory.
  package var url = StoreURL.sqlite(path: "usherd.db")

  package static var blank: StoreSettings { StoreSettings() }

  package mutating func bind(_ table: SettingsTable) { table.setting(&url, "url") }
}

/// The URL of the database: `sqlite:PATH`.
package enum StoreURL: CodedAsText, Equatable, Sendable {
  case sqlite(path: String)

  package init(setting text: String) throws(SettingError) {
    let scheme = text.prefix { $0 != ":" }.lowercased()
    if scheme == "postgresql" || scheme == "postgres" {
      throw SettingError("postgresql is not supported by this build; use \"sqlite:PATH\"")
    }
    let path = String(text.dropFirst("sqlite:".count))
    guard text.hasPrefix("sqlite:"), !path.hasPrefix("//"), ("/" + path).isAbsolutePath,
      !path.isEmpty
    else { throw SettingError("must be \"sqlite:PATH\"") }
    self = .sqlite(path: path)
  }

  package var settingText: String {
    switch self {
    case .sqlite(let path): "sqlite:\(path)"
    }
  }
}

/// The section `[access]`: the callers that may use the daemon if no `[[client]]` rule matches
/// them.
package struct AccessSettings: SettingsSection {
  /// The group whose members may use their own accounts and flows.
  package var group = Principal.name("usher")

  package static var blank: AccessSettings { AccessSettings() }

  package mutating func bind(_ table: SettingsTable) { table.setting(&group, "group") }
}

/// A user or group, by name or by number.
package enum Principal: CodedAsText, Hashable, Sendable {
  case name(String)
  case id(UInt32)

  package init(setting text: String) throws(SettingError) {
    if text.consists(upTo: 256, of: \.isDigit) {
      guard let id = UInt32(text), id != .max else { throw SettingError("is not a valid id") }
      self = .id(id)
      return
    }
    let isName = text.consists(upTo: 256) { $0.isVisible && !$0.isOne(of: ":/,") }
    guard isName, !text.hasPrefix("-") else { throw SettingError("must be a name or a numeric id") }
    self = .name(text)
  }

  package var settingText: String {
    switch self {
    case .name(let name): name
    case .id(let id): String(id)
    }
  }

  /// Returns the id; for a name it is the result of `find`.
  func id(by find: (String) -> UInt32?) -> UInt32? {
    switch self {
    case .name(let name): find(name)
    case .id(let id): id
    }
  }

  /// Reads the value of a setting, which may be a string or a number.
  package static func read(_ field: SettingField) -> Principal? {
    switch field.node.value {
    case .string(let text): field.setting(text)
    case .integer(let number): field.setting(number < 0 ? "" : String(number))
    case .table, .array, .float, .boolean, .date: field.mismatch("a name or a numeric id")
    }
  }
}

/// The section `[audit]`: how long rows of the audit log are kept. The limit that is reached first
/// applies.
package struct AuditSettings: SettingsSection {
  /// The maximum number of rows in the audit log.
  package var maxRows = 100_000
  /// The maximum age of an audit row, in days.
  package var maxDays = 90

  package static var blank: AuditSettings { AuditSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&maxRows, "max_rows", 1000...10_000_000)
    table.setting(&maxDays, "max_days", 1...3650)
  }
}

/// The section `[log]`: the messages that go to the journal.
package struct LogSettings: SettingsSection {
  /// The lowest level of the messages that are logged.
  package var level = LogLevel.info

  package static var blank: LogSettings { LogSettings() }

  package mutating func bind(_ table: SettingsTable) { table.setting(&level, "level") }
}

/// The log levels, as swift-log names them.
package enum LogLevel: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case trace
  case debug
  case info
  case notice
  case warning
  case error
  case critical
}

/// The section `[token]`: settings for the tokens of every provider.
package struct TokenSettings: SettingsSection {
  /// How many seconds before a grant expires the daemon notifies its owner, by the event
  /// `expiring`.
  package var grantWarningSeconds = 300

  package static var blank: TokenSettings { TokenSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&grantWarningSeconds, "grant_warning_seconds", 0...86_400)
  }
}

/// The section `[flow]`: settings for the flows of every provider.
package struct FlowSettings: SettingsSection {
  /// The number of seconds in which a user must finish a flow.
  package var deadlineSeconds = 600

  package static var blank: FlowSettings { FlowSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&deadlineSeconds, "deadline_seconds", 30...86_400)
  }
}
