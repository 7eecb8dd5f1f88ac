import UsherConfig

/// The definition of OAuth 2.0 servers that have neither discovery nor ID tokens (RFC 6749).
///
/// Their flows are those of OpenID Connect. ``OAuth2Rules`` describes what is different.
struct OAuth2Provider: ProviderDefinition {
  static let flows = OIDCProvider.flows
  static let hasIDTokens = false

  let provider: Provider<OIDCSettings>
}

extension OIDCSettings {
  /// Whether the server issues ID tokens.
  var hasIDTokens: Bool { oauth2 == nil }

  /// What is particular about the token endpoint's replies.
  var replyRules: TokenReplyRules {
    guard let oauth2 else { return TokenReplyRules() }
    return TokenReplyRules(
      tokenTypes: oauth2.tokenTypes, grantEndedErrors: oauth2.grantEndedErrors,
      hasCommasInScope: true, ignoresIDToken: true)
  }

  /// Returns a scope as the server expects it in a request.
  func spelling(ofScope scope: String) -> String {
    oauth2?.scopeSeparator == .comma
      ? scope.split(separator: " ").joined(separator: ",") : scope
  }
}

extension TokenRequest {
  init(_ provider: Provider<OIDCSettings>, scope: String) {
    self.init(provider: provider.name, scope: scope)
    rules = provider.settings.replyRules
  }
}
