/// The endpoints that issue and accept a provider's tokens. Existing accounts keep their tokens as
/// long as this value does not change. If it changes, the tokens belong to another server.
package struct TokenPlace: Codable, Equatable, Sendable {
  package let variety: ProviderVariety
  /// The issuer or base URLs, and the endpoints that the configuration gives as absolute URLs.
  package let addresses: [String]

  /// The issuer of the ID tokens; nil if providers of this variety issue none.
  package var issuer: String? {
    switch variety {
    case .oidc, .freedomidOIDC: addresses.first
    case .oauth2, .paysafe, .truecaller, .gopay, .freedomidDevice, .freedomidOAuth2, .bsa, .local:
      nil
    }
  }
}

extension ProviderConfig {
  package var tokenPlace: TokenPlace {
    TokenPlace(variety: settings.variety, addresses: settings.tokenAddresses)
  }

  /// The issuer identifier of the authorization server (RFC 8414 §2); nil if none is known.
  package var issuer: String? {
    (settings as? OAuth2Settings)?.issuer?.text ?? tokenPlace.issuer
  }
}
