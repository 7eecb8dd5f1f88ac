import UsherConfig
import UsherCore

/// How the tokens of an OpenID provider are refreshed and revoked (RFC 6749 §6, RFC 7009).
struct OIDCTokens: TokenDialect {
  let provider: Provider<OIDCSettings>
  let metadata: OIDCMetadata

  var isPublicClient: Bool { provider.config.credentialName == nil }

  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? {
    OIDCCall.refresh(refreshToken, scope: scope, metadata)
  }

  /// Returns why the ID token of a refresh is not acceptable (OIDC Core §12.2), as a sentence; nil
  /// if it is, or if the refresh returned none.
  func flaw(in tokens: TokenSet, of subject: String, signIn: SignInClaims?) -> String? {
    guard let token = tokens.idToken?.unsealed() else { return nil }
    let clientID = provider.settings.clientID
    return IDTokenClaims.flaw(
      refreshed: token, issuer: metadata.issuer, clientID: clientID, subject: subject,
      signIn: signIn)?
      .explanation(
        about: JSONWebToken.claims(of: token) ?? [:], issuer: metadata.issuer, clientID: clientID,
        now: nil)
  }

  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)? {
    guard metadata.revocationEndpoint != nil else { return nil }
    return OIDCCall.revoke(.init(token: token, kind: kind, bearer: bearer), metadata)
  }
}
