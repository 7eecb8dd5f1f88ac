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

extension ProviderSettings {
  fileprivate var tokenAddresses: [String] {
    switch self {
    case .oidc(let settings):
      [settings.issuer.text] + [settings.endpoints.token?.text].compactMap(\.self)
    case .paysafe(let settings):
      [settings.baseURL.text] + [settings.paths.token].wholeURLs
    case .truecaller(let settings): [settings.otpBaseURL.text]
    case .gopay(let settings):
      [settings.snapBaseURL.text, settings.identityBaseURL.text, settings.captureBaseURL.text]
        + settings.paths.showingTokens.wholeURLs
    case .freedomid(let settings):
      [settings.baseURL.text, settings.apiBaseURL.text]
        + [settings.endpoints.token?.text].compactMap(\.self)
        + settings.paths.showingTokens.wholeURLs
    case .bsa(let settings): [settings.baseURL.text]
    case .local: []
    }
  }
}

extension GoPayPaths {
  fileprivate var showingTokens: [ProviderPath] {
    [authCode, temporaryToken, unbinding, submission, currentSubmission]
  }
}

extension FreedomIDPaths {
  fileprivate var showingTokens: [ProviderPath] {
    [deviceToken, deviceConsent, token, userInfo, profile, profileStatus, openidToken]
  }
}

extension [ProviderPath] {
  /// Those that are under no base URL.
  fileprivate var wholeURLs: [String] { map(\.text).filter { !$0.hasPrefix("/") } }
}
