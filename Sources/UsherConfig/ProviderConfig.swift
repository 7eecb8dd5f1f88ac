package import UsherCore

/// One `[[provider]]`: an identity provider under the name callers say.
///
/// It is `Codable` so that a flow keeps what it began with.
package struct ProviderConfig: SettingsSection {
  /// The name of the daemon's own provider, which no other may have.
  package static let reservedName = "local"

  /// `[a-z0-9][a-z0-9._-]{0,63}`
  package var name: ProviderName
  /// The settings that only providers of this type have.
  package var settings: any ProviderTypeSettings
  /// How it is reached.
  package var http = HTTPSettings()

  package init(name: ProviderName, settings: any ProviderTypeSettings) {
    self.name = name
    self.settings = settings
  }

  package static var blank: ProviderConfig {
    ProviderConfig(name: ProviderName(""), settings: OIDCSettings.blank)
  }

  /// The daemon's own provider: always there, and in no file.
  package static let local = ProviderConfig(
    name: ProviderName(reservedName), settings: LocalProviderSettings())

  package static func == (one: ProviderConfig, other: ProviderConfig) -> Bool {
    one.name == other.name && one.http == other.http && one.settings.isEqual(to: other.settings)
  }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&name, "name") { name in
      if name.rawValue == Self.reservedName && !table.isStored {
        return "is the daemon's own; choose another name"
      }
      return name.rawValue.isConfigName
        ? nil : "must be up to 64 of a-z 0-9 . _ - and begin with a letter or digit"
    }
    var type: ProviderType? = settings.type
    table.required(&type, "type")
    if type == .local && !table.isStored { table.complain("type", "is the daemon's own") }
    http.bind(table)
    guard let type else { return table.ignoreOtherKeys() }
    if type != settings.type { settings = type.settings.blank }
    settings.bind(table)
  }
}

/// How a provider of any type is reached; keys of `[[provider]]` itself.
package struct HTTPSettings: SettingsSection {
  /// An HTTP proxy for all requests to the provider; absent: none.
  package var proxy: ProxyURL?
  /// Absolute path of a PEM file with the only CAs to trust; absent: the system's.
  package var caFile: String?
  /// Seconds for a connection to the provider to be made.
  package var connectTimeoutSeconds = 5
  /// Seconds for a request from its begin to the end of the answer.
  package var requestTimeoutSeconds = 15

  package init() {}

  package static var blank: HTTPSettings { HTTPSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&proxy, "proxy")
    table.setting(&caFile, "ca_file") { $0.isAbsolutePath ? nil : "must be an absolute path" }
    table.setting(&connectTimeoutSeconds, "connect_timeout_seconds", 1...120)
    table.setting(&requestTimeoutSeconds, "request_timeout_seconds", 1...120)
  }
}

extension ProviderName: TextSetting {
  package init(setting text: String) throws(Refusal) { self.init(rawValue: text) }
  package var settingText: String { rawValue }
}
