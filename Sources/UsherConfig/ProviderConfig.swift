package import UsherCore

/// A `[[provider]]` of the configuration: an identity provider and the name by which callers refer
/// to it.
///
/// The type is `Codable` because a flow stores the configuration with which it started.
package struct ProviderConfig: SettingsSection {
  /// The name of the daemon's own provider. No configured provider can have this name.
  package static let reservedName = "local"

  /// The provider's name: `[a-z0-9][a-z0-9._-]{0,63}`.
  package var name: ProviderName
  /// The well-known service whose settings the others override; nil if none is named.
  package var preset: ProviderPreset?
  /// The settings that are specific to the provider's type.
  package var settings: any ProviderTypeSettings
  /// The settings of the HTTP connection to the provider.
  package var http = HTTPSettings()

  package init(name: ProviderName, settings: any ProviderTypeSettings) {
    self.name = name
    self.settings = settings
  }

  package static var blank: ProviderConfig {
    ProviderConfig(name: ProviderName(""), settings: OIDCSettings.blank)
  }

  /// The daemon's own provider, which always exists and is never configured.
  package static let local = ProviderConfig(
    name: ProviderName(reservedName), settings: LocalProviderSettings())

  package static func == (one: ProviderConfig, other: ProviderConfig) -> Bool {
    one.name == other.name && one.http == other.http && one.settings.isEqual(to: other.settings)
  }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&name, "name") { name in
      if name.rawValue == Self.reservedName && !table.isStored {
        return "is reserved for the daemon; choose another name"
      }
      return name.rawValue.configNameViolation
    }
    // Stored settings contain those of the preset, which may no longer exist.
    if !table.isStored {
      table.setting(&preset, "preset")
      if let preset { table.read(preset: preset) }
      let isUnknown = preset == nil && table.position(of: "preset") != nil
      if isUnknown { return table.ignoreOtherKeys() }
    }
    var type: ProviderType? = settings.type
    table.required(&type, "type")
    if type == .local && !table.isStored {
      table.reportProblem("type", "is reserved for the daemon")
    }
    http.bind(table)
    if let preset, let type, preset.type != type {
      table.reportProblem("type", "must be \"\(preset.type.rawValue)\" with this preset, or absent")
      return table.ignoreOtherKeys()
    }
    guard let type else { return table.ignoreOtherKeys() }
    if type != settings.type { settings = type.settings.blank }
    settings.bind(table)
  }
}

/// The HTTP settings of a provider of any type; their keys are in `[[provider]]` itself.
package struct HTTPSettings: SettingsSection {
  /// The HTTP proxy for all requests to the provider; nil means none.
  package var proxy: ProxyURL?
  /// The absolute path of a PEM file with the only CAs to trust; nil means the CAs of the system.
  package var caFile: String?
  /// The connect timeout in seconds.
  package var connectTimeoutSeconds = 5
  /// The timeout of a request in seconds, from its start to the end of the response.
  package var requestTimeoutSeconds = 15

  package static var blank: HTTPSettings { HTTPSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&proxy, "proxy")
    table.setting(&caFile, "ca_file") { $0.isAbsolutePath ? nil : "must be an absolute path" }
    table.setting(&connectTimeoutSeconds, "connect_timeout_seconds", 1...120)
    table.setting(&requestTimeoutSeconds, "request_timeout_seconds", 1...120)
  }
}

extension ProviderName: TextSetting {
  package init(setting text: String) throws(SettingError) { self.init(rawValue: text) }
  package var settingText: String { rawValue }
}
