/// Where a provider's tokens are from, and where they are sent. Settings that do not change it leave
/// accounts as they are; where it is another, the tokens are not this provider's.
package struct TokenPlace: Codable, Equatable, Sendable {
  package let variety: ProviderVariety
  /// Its issuer or base URLs, and endpoints that the configuration names by whole URLs.
  package let addresses: [String]
}

extension ProviderConfig {
  package var tokenPlace: TokenPlace {
    TokenPlace(variety: settings.variety, addresses: settings.tokenAddresses)
  }
}
