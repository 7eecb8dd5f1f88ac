/// `[store]`: where tokens, flows and credentials are kept, sealed.
package struct StoreSettings: SettingsSection {
  /// The database; a relative path is in the state directory.
  package var url = StoreURL.sqlite(path: "usherd.db")

  package init() {}

  package static var blank: StoreSettings { StoreSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&url, "url")
  }
}

/// `sqlite:PATH`.
package enum StoreURL: CodedAsText, Equatable, Sendable {
  case sqlite(path: String)

  package init(setting text: String) throws(Refusal) {
    let scheme = text.prefix { $0 != ":" }.lowercased()
    if scheme == "postgresql" || scheme == "postgres" {
      throw Refusal("postgresql is not supported by this build; use \"sqlite:PATH\"")
    }
    let path = String(text.dropFirst("sqlite:".count))
    guard text.hasPrefix("sqlite:"), !path.hasPrefix("//"), ("/" + path).isAbsolutePath,
      !path.isEmpty
    else { throw Refusal("must be \"sqlite:PATH\"") }
    self = .sqlite(path: path)
  }

  package var settingText: String {
    switch self {
    case .sqlite(let path): "sqlite:\(path)"
    }
  }
}

/// `[access]`: who may use the daemon where no `[[client]]` rule matches.
package struct AccessSettings: SettingsSection {
  /// The group whose members may use what they own.
  package var group = Principal.name("usher")

  package init() {}

  package static var blank: AccessSettings { AccessSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&group, "group")
  }
}

/// A user or group, by name or by number.
package enum Principal: CodedAsText, Hashable, Sendable {
  case name(String)
  case id(UInt32)

  package init(setting text: String) throws(Refusal) {
    if text.consists(upTo: 256, of: \.isDigit) {
      guard let id = UInt32(text), id != .max else { throw Refusal("is not a possible id") }
      self = .id(id)
      return
    }
    let isName = text.consists(upTo: 256) { $0.isVisible && !$0.isOne(of: ":/,") }
    guard isName, !text.hasPrefix("-") else { throw Refusal("must be a name or a numeric id") }
    self = .name(text)
  }

  package var settingText: String {
    switch self {
    case .name(let name): name
    case .id(let id): String(id)
    }
  }

  /// Also takes a bare number.
  package static func read(_ field: SettingField) -> Principal? {
    let text: String
    switch field.node.value {
    case .string(let string): text = string
    case .integer(let number): text = number < 0 ? "" : String(number)
    case .table, .array, .float, .boolean, .date:
      field.complain(expected: "a name or a numeric id")
      return nil
    }
    do throws(Refusal) {
      return try Principal(setting: text)
    } catch {
      field.complain(error.message)
      return nil
    }
  }
}

/// `[audit]`: how long is remembered who got what. Whichever is reached first counts.
package struct AuditSettings: SettingsSection {
  /// Rows that are kept.
  package var maxRows = 100_000
  /// Days for which they are kept.
  package var maxDays = 90

  package init() {}

  package static var blank: AuditSettings { AuditSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&maxRows, "max_rows", 1000...10_000_000)
    table.setting(&maxDays, "max_days", 1...3650)
  }
}

/// `[log]`: what goes to the journal.
package struct LogSettings: SettingsSection {
  /// The least important messages that are still logged.
  package var level = LogLevel.info

  package init() {}

  package static var blank: LogSettings { LogSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&level, "level")
  }
}

/// In swift-log's words.
package enum LogLevel: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case trace
  case debug
  case info
  case notice
  case warning
  case error
  case critical
}

/// `[token]`: what holds for tokens of every provider.
package struct TokenSettings: SettingsSection {
  /// Seconds before a grant dies at which its owner is told.
  package var grantWarningSeconds = 300

  package init() {}

  package static var blank: TokenSettings { TokenSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&grantWarningSeconds, "grant_warning_seconds", 0...86_400)
  }
}

/// `[flow]`: what holds for flows of every provider.
package struct FlowSettings: SettingsSection {
  /// Seconds a person has to finish a flow.
  package var deadlineSeconds = 600

  package init() {}

  package static var blank: FlowSettings { FlowSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&deadlineSeconds, "deadline_seconds", 30...86_400)
  }
}
