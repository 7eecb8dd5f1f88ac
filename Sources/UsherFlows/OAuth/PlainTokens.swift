import UsherCore

/// Access tokens that can be neither renewed nor taken back: of Truecaller's verifications, whose
/// vendor publishes no way. The daemon's own provider has none at all.
struct PlainTokens: TokenDialect {
  var isPublicClient: Bool { false }

  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? { nil }

  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)? {
    nil
  }
}
