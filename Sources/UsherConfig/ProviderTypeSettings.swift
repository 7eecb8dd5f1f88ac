package import UsherCore

/// The settings of one provider type, with the values that the daemon needs of every type.
package protocol ProviderTypeSettings: SettingsSection {
  static var type: ProviderType { get }

  /// The type together with the mode, which determine the kinds of flows.
  var variety: ProviderVariety { get }
  /// The address at which the daemon listens for the provider's calls; nil if it does not listen.
  var callbackAddress: LoopbackAddress? { get }
  /// The addresses that issue and accept the provider's tokens. If one of them changes, the daemon
  /// no longer sends the tokens of existing accounts.
  var tokenAddresses: [String] { get }
  /// The parameters of the one-time codes of the provider's accounts; nil if the provider has no
  /// such codes.
  var oneTimeCodes: TOTPSettings? { get }
  /// Whether a refresh may request a part of the granted scope, because that leaves the grant
  /// unchanged: the setting `narrow_refresh`. Nil if the type has no such setting.
  var mayNarrowRefresh: Bool? { get }
  /// Whether the daemon revokes a refresh token that a new sign-in replaces. At providers other
  /// than OpenID Connect, a revocation may end more than the token, such as a binding or a device.
  var revokesReplaced: Bool { get }
  /// Whether a token for an audience is got by token exchange (RFC 8693).
  var exchangesTokens: Bool { get }

  /// Returns these settings as those of another type whose flows the provider runs, too; nil if it
  /// runs none of that type.
  func view<Settings: ProviderTypeSettings>(as type: Settings.Type) -> Settings?
}

extension ProviderTypeSettings {
  package var callbackAddress: LoopbackAddress? { nil }
  package var oneTimeCodes: TOTPSettings? { nil }
  package var mayNarrowRefresh: Bool? { nil }
  package var revokesReplaced: Bool { false }
  package var exchangesTokens: Bool { false }

  package func view<Settings: ProviderTypeSettings>(as type: Settings.Type) -> Settings? {
    self as? Settings
  }

  package var type: ProviderType { Self.type }

  func isEqual(to other: any ProviderTypeSettings) -> Bool { self == other as? Self }
}

/// The settings of the daemon's own provider, which has none.
package struct LocalProviderSettings: ProviderTypeSettings {
  package static let type = ProviderType.local
  package static var blank: LocalProviderSettings { LocalProviderSettings() }

  package var variety: ProviderVariety { .local }
  package var tokenAddresses: [String] { [] }

  package mutating func bind(_ table: SettingsTable) {}
}

extension [ProviderPath] {
  /// The paths that are absolute URLs.
  var wholeURLs: [String] { map(\.text).filter { !$0.hasPrefix("/") } }
}

/// A provider with its settings in their own type.
package struct Provider<Settings: ProviderTypeSettings>: Codable, Equatable, Sendable {
  /// The content of the provider. All copies share it, because settings are large and every flow
  /// has a provider.
  private final class Storage: Sendable {
    let config: ProviderConfig
    let settings: Settings

    init(_ config: ProviderConfig, _ settings: Settings) {
      self.config = config
      self.settings = settings
    }
  }

  private let storage: Storage

  /// Creates the provider from an untyped configuration; nil if its settings cannot be viewed as
  /// this type.
  package init?(_ config: ProviderConfig) {
    guard let settings = config.settings.view(as: Settings.self) else { return nil }
    storage = Storage(config, settings)
  }

  package var config: ProviderConfig { storage.config }
  package var settings: Settings { storage.settings }
  package var name: ProviderName { storage.config.name }

  package static func == (one: Provider, other: Provider) -> Bool {
    one.storage === other.storage || one.config == other.config
  }

  /// Decodes what ``encode(to:)`` has encoded.
  ///
  /// - Throws: `DecodingError` if the provider is of another type.
  package init(from decoder: any Decoder) throws {
    let config = try ProviderConfig(from: decoder)
    guard let provider = Provider(config) else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "provider \(config.name) is of type \(config.settings.type)"))
    }
    self = provider
  }

  /// Encodes the complete configuration of the provider.
  package func encode(to encoder: any Encoder) throws { try config.encode(to: encoder) }
}
