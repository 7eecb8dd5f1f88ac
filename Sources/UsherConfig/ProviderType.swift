/// A type of provider: the value of `type` in a `[[provider]]`.
package enum ProviderType: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case oidc
  case oauth2
  case paysafe
  case truecaller
  case gopay
  case freedomid
  case bsa
  /// The type of the daemon's own provider; no configuration file can contain it.
  case local

  /// The settings of the providers of this type. One more provider type is one more case above, and
  /// one more line here and in ``ProviderVariety``.
  package var settings: any ProviderTypeSettings.Type {
    switch self {
    case .oidc: OIDCSettings.self
    case .oauth2: OAuth2Settings.self
    case .paysafe: PaysafeSettings.self
    case .truecaller: TruecallerSettings.self
    case .gopay: GoPaySettings.self
    case .freedomid: FreedomIDSettings.self
    case .bsa: BSASettings.self
    case .local: LocalProviderSettings.self
    }
  }

  /// The types that a configuration file may contain.
  package static let configurable = allCases.filter { $0 != .local }

  package init(setting text: String) throws(SettingError) {
    if let type = ProviderType(rawValue: text) {
      self = type
      return
    }
    let words = Self.configurable.map(\.rawValue)
    let hint = text.nearest(of: words).map { "; did you mean \($0)?" } ?? ""
    throw SettingError("unknown type; known: \(words.joined(separator: ", "))\(hint)")
  }
}

/// A type of provider in one of its modes. It is stored with every flow.
package enum ProviderVariety: String, Codable, CaseIterable, Equatable, Sendable {
  case oidc
  case oauth2
  case paysafe
  case truecaller
  case gopay
  case freedomidDevice = "freedomid/device"
  case freedomidOAuth2 = "freedomid/oauth2"
  case freedomidOIDC = "freedomid/oidc"
  case bsa
  case local
}
