package import UsherCore

/// One `[[provider]]`: an identity provider under the name callers say.
///
/// It is `Codable` so that a flow keeps what it began with.
package struct ProviderConfig: SettingsSection {
  /// The name of the daemon's own provider, which no other may have.
  package static let reservedName = "local"

  /// `[a-z0-9][a-z0-9._-]{0,63}`
  package var name: ProviderName
  /// What only this type of provider has.
  package var settings: ProviderSettings
  /// How it is reached.
  package var http = HTTPSettings()

  package init(name: ProviderName, settings: ProviderSettings) {
    self.name = name
    self.settings = settings
  }

  package static var blank: ProviderConfig {
    ProviderConfig(name: ProviderName(""), settings: .blank(.oidc))
  }

  /// The daemon's own provider: always there, and in no file.
  package static let local = ProviderConfig(name: ProviderName(reservedName), settings: .local)

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
    if type != settings.type { settings = .blank(type) }
    settings.bind(table)
  }
}

/// Which of the settings a provider has: one more type is a file with its settings and a case in
/// each switch the compiler then asks for.
///
/// It is indirect: every flow has one, and all of a provider share it.
package indirect enum ProviderSettings: Equatable, Sendable {
  case oidc(OIDCSettings)
  case paysafe(PaysafeSettings)
  case truecaller(TruecallerSettings)
  case gopay(GoPaySettings)
  case freedomid(FreedomIDSettings)
  case bsa(BSASettings)
  /// The daemon's own, which has none.
  case local

  package var type: ProviderType {
    switch self {
    case .oidc: .oidc
    case .paysafe: .paysafe
    case .truecaller: .truecaller
    case .gopay: .gopay
    case .freedomid: .freedomid
    case .bsa: .bsa
    case .local: .local
    }
  }

  /// The settings, whatever their type is.
  package var value: any ProviderTypeSettings {
    switch self {
    case .oidc(let settings): settings
    case .paysafe(let settings): settings
    case .truecaller(let settings): settings
    case .gopay(let settings): settings
    case .freedomid(let settings): settings
    case .bsa(let settings): settings
    case .local: LocalProviderSettings()
    }
  }

  package var variety: ProviderVariety { value.variety }

  static func blank(_ type: ProviderType) -> ProviderSettings {
    switch type {
    case .oidc: .oidc(.blank)
    case .paysafe: .paysafe(.blank)
    case .truecaller: .truecaller(.blank)
    case .gopay: .gopay(.blank)
    case .freedomid: .freedomid(.blank)
    case .bsa: .bsa(.blank)
    case .local: .local
    }
  }

  mutating func bind(_ table: SettingsTable) {
    switch self {
    case .oidc(let settings): self = .oidc(settings.bound(to: table))
    case .paysafe(let settings): self = .paysafe(settings.bound(to: table))
    case .truecaller(let settings): self = .truecaller(settings.bound(to: table))
    case .gopay(let settings): self = .gopay(settings.bound(to: table))
    case .freedomid(let settings): self = .freedomid(settings.bound(to: table))
    case .bsa(let settings): self = .bsa(settings.bound(to: table))
    case .local: break
    }
  }
}

extension SettingsSection {
  fileprivate func bound(to table: SettingsTable) -> Self {
    var settings = self
    settings.bind(table)
    return settings
  }
}

/// A type of provider in one of its modes. It is stored with every flow.
package enum ProviderVariety: String, Codable, CaseIterable, Equatable, Sendable {
  case oidc
  case paysafe
  case truecaller
  case gopay
  case freedomidDevice = "freedomid/device"
  case freedomidOAuth2 = "freedomid/oauth2"
  case freedomidOIDC = "freedomid/oidc"
  case bsa
  case local
}

/// What may stand in `type`.
package enum ProviderType: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case oidc
  case paysafe
  case truecaller
  case gopay
  case freedomid
  case bsa
  /// The daemon's own provider; no file can have one of this type.
  case local

  /// Those that a file can have.
  package static let configurable = allCases.filter { $0 != .local }

  package init(setting text: String) throws(Refusal) {
    if let type = ProviderType(rawValue: text) {
      self = type
      return
    }
    let words = Self.configurable.map(\.rawValue)
    let hint = text.nearest(of: words).map { "; did you mean \($0)?" } ?? ""
    throw Refusal("unknown type; known: \(words.joined(separator: ", "))\(hint)")
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
