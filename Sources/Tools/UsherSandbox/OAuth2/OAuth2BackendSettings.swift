/// The settings of an OAuth 2.0 server that a test may change while it runs.
///
/// <doc:OAuth2> describes each setting.
protocol OAuth2BackendSettings: BackendSettings {
  var accessTokenSeconds: Int { get }
  var refreshTokenSeconds: Int { get }
  var codeSeconds: Int { get }
  var terms: TokenTerms { get }
  var deviceTerms: DeviceTerms { get }
}

extension OAuth2BackendSettings {
  package func validationError(for changes: [String: JSON]) -> String? {
    let spans = [
      accessTokenSeconds, refreshTokenSeconds, codeSeconds, deviceTerms.codeSeconds,
      deviceTerms.interval,
    ]
    return spans.allSatisfy(Self.seconds.contains)
      ? nil : "seconds must be 0 to \(Self.seconds.upperBound)"
  }

  var deviceTerms: DeviceTerms { DeviceTerms() }
}

struct GitHubBackendSettings: OAuth2BackendSettings {
  /// Whether tokens expire and can be refreshed, as those of a GitHub App. Those of an OAuth app do
  /// not.
  var expiringTokens = false
  var accessTokenSeconds = 28_800
  var refreshTokenSeconds = 15_897_600
  var codeSeconds = 600
  var deviceCodeSeconds = 900
  /// Seconds between polls (RFC 8628 §3.2); at 0 there is no `slow_down`.
  var deviceInterval = 5
  var refreshRotation = TokenTerms.Rotation.strict
  var tokenReply: [String: JSON] = [:]
  var deviceReply: [String: JSON] = [:]
  var userReply: [String: JSON] = [:]

  var terms: TokenTerms {
    TokenTerms(
      accessTokenSeconds: expiringTokens ? accessTokenSeconds : Self.seconds.upperBound,
      refreshTokenSeconds: refreshTokenSeconds, codeSeconds: codeSeconds,
      rotation: refreshRotation, refreshTokens: expiringTokens ? .always : .never,
      refreshEndsAccessTokens: true, accessTokenPrefix: "gho_", refreshTokenPrefix: "ghr_")
  }

  var deviceTerms: DeviceTerms {
    DeviceTerms(codeSeconds: deviceCodeSeconds, interval: deviceInterval)
  }
}

struct AtlassianBackendSettings: OAuth2BackendSettings {
  var accessTokenSeconds = 3600
  var refreshTokenSeconds = 90 * 86_400
  var codeSeconds = 300
  var refreshRotation = TokenTerms.Rotation.strict
  var tokenReply: [String: JSON] = [:]
  var userReply: [String: JSON] = [:]

  var terms: TokenTerms {
    TokenTerms(
      accessTokenSeconds: accessTokenSeconds, refreshTokenSeconds: refreshTokenSeconds,
      codeSeconds: codeSeconds, rotation: refreshRotation,
      refreshTokens: .withScope("offline_access"))
  }
}

struct SlackBackendSettings: OAuth2BackendSettings {
  /// Whether tokens expire and can be refreshed, as those of an app with token rotation.
  var expiringTokens = false
  var accessTokenSeconds = 43_200
  var refreshTokenSeconds = 30 * 86_400
  var codeSeconds = 600
  var refreshRotation = TokenTerms.Rotation.strict
  var tokenReply: [String: JSON] = [:]
  var userReply: [String: JSON] = [:]

  var terms: TokenTerms {
    TokenTerms(
      accessTokenSeconds: expiringTokens ? accessTokenSeconds : Self.seconds.upperBound,
      refreshTokenSeconds: refreshTokenSeconds, codeSeconds: codeSeconds,
      rotation: refreshRotation, refreshTokens: expiringTokens ? .always : .never,
      accessTokenPrefix: "xoxp-", refreshTokenPrefix: "xoxe-1-")
  }
}

extension Ledger {
  init(_ settings: some OAuth2BackendSettings, tokenGenerator: TokenGenerator) {
    self.init(tokenGenerator: tokenGenerator, terms: settings.terms)
    deviceTerms = settings.deviceTerms
  }
}
