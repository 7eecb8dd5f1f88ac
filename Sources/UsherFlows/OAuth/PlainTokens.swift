import UsherCore

/// Access tokens that can be neither refreshed nor revoked.
///
/// Used for Truecaller, which documents no endpoint for either, and for the local provider, which
/// issues no tokens at all.
struct PlainTokens: TokenDialect {
  var isPublicClient: Bool { false }

  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? { nil }

  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)? {
    nil
  }
}
