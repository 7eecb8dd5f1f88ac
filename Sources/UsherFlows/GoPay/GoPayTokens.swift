import UsherConfig
import UsherCore

/// Linking tokens: there is no renewal, and an account is unbound where the daemon has bound it.
struct GoPayTokens: TokenDialect {
  private let settings: GoPaySettings

  init(_ settings: GoPaySettings) { self.settings = settings }

  var isPublicClient: Bool { false }

  func renewal(_ refreshToken: Secret, scope: String?) -> any ProviderCall {
    fatalError("a linking token has no refresh token beside it")
  }

  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)? {
    nil
  }
}
