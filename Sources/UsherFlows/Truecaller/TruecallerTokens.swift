import UsherCore

/// The access tokens of verifications: the vendor publishes neither how long they live nor a way to
/// renew them or to take them back.
struct TruecallerTokens: TokenDialect {
  var isPublicClient: Bool { false }

  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? { nil }

  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)? {
    nil
  }
}
