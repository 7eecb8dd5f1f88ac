/// The settings of one type of provider, and what the daemon reads from them whatever the type is.
package protocol ProviderTypeSettings: SettingsSection {
  /// The type in its mode, which decides which flows there are.
  var variety: ProviderVariety { get }
  /// The address at which the daemon listens for the provider's calls; nil if it does not listen.
  var callbackAddress: LoopbackAddress? { get }
  /// The addresses that issue and accept the provider's tokens. If one changes, the tokens of the
  /// accounts are not sent any more.
  var tokenAddresses: [String] { get }
  /// How one-time codes of the provider's accounts are made; nil if it has none.
  var oneTimeCodes: TOTPSettings? { get }
  /// Whether a refresh for a part of the granted scope leaves the grant as it is.
  var mayNarrowRefresh: Bool { get }
  /// Whether a refresh token that nobody will use any more is revoked. At providers other than OpenID
  /// Connect a revocation may end more than its token: a binding, or a device.
  var revokesReplaced: Bool { get }
}

extension ProviderTypeSettings {
  package var callbackAddress: LoopbackAddress? { nil }
  package var oneTimeCodes: TOTPSettings? { nil }
  package var mayNarrowRefresh: Bool { false }
  package var revokesReplaced: Bool { false }
}

/// The settings of the daemon's own provider, which has none.
package struct LocalProviderSettings: ProviderTypeSettings {
  package static var blank: LocalProviderSettings { LocalProviderSettings() }

  package init() {}

  package var variety: ProviderVariety { .local }
  package var tokenAddresses: [String] { [] }

  package mutating func bind(_ table: SettingsTable) {}
}

extension ProviderConfig {
  package var mayNarrowRefresh: Bool { settings.value.mayNarrowRefresh }
  package var revokesReplaced: Bool { settings.value.revokesReplaced }
}

extension [ProviderPath] {
  /// The paths that are whole URLs, and therefore not below a base URL.
  var wholeURLs: [String] { map(\.text).filter { !$0.hasPrefix("/") } }
}
