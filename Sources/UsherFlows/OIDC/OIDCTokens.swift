import JSONRPC
import UsherConfig
import UsherCore

/// How the tokens of an OpenID provider are refreshed and revoked (RFC 6749 §6, RFC 7009).
struct OIDCTokens: TokenDialect {
  let provider: Provider<OIDCSettings>
  let metadata: OIDCMetadata
  /// The key to which the tokens are bound; nil if they are bound to none.
  var dpopKey: Sealed<Secret>?

  var isPublicClient: Bool {
    provider.config.credentialName == nil && provider.settings.clientAssertionFile == nil
  }

  var flaw: String? { provider.settings.profile.flaw(of: metadata, for: provider.settings) }

  func read(_ reply: HTTPReply, to request: TokenRequest, at now: Timestamp) -> TokenReply {
    var request = request
    request.rules = provider.settings.replyRules
    if dpopKey != nil { request.rules.tokenTypes = TokenReplyRules.dpop }
    return TokenReply(reply, to: request, at: now)
  }

  func bound(to key: Sealed<Secret>) -> any TokenDialect { copy(self) { $0.dpopKey = key } }

  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? {
    OIDCCall.refresh(refreshToken, scope: scope, metadata).bound(to: dpopKey)
  }

  func renewal(
    _ refreshToken: Secret, scope: String?, audience: String
  ) -> (any ProviderCall)? {
    guard provider.settings.audienceParameter != nil, !provider.settings.tokenExchange else {
      return nil
    }
    return OIDCCall.refresh(refreshToken, scope: scope, audience: audience, metadata)
      .bound(to: dpopKey)
  }

  func exchange(
    _ accessToken: Secret, scope: String?, audience: String
  ) -> (any ProviderCall)? {
    guard provider.settings.tokenExchange, provider.settings.audienceParameter != nil else {
      return nil
    }
    return OIDCCall.tokenExchange(
      .init(subject: accessToken, scope: scope, audience: audience), metadata
    ).bound(to: dpopKey)
  }

  func clientToken(scope: String, audience: String?) -> (any ProviderCall)? {
    guard provider.settings.clientCredentialsGrant else { return nil }
    return OIDCCall.clientCredentials(scope: scope, audience: audience, metadata)
      .bound(to: dpopKey)
  }

  func assertionToken(
    subject: String, scope: String, audience: String?
  ) -> (any ProviderCall)? {
    guard provider.settings.jwtBearer.permits(subject, clientID: provider.settings.clientID) else {
      return nil
    }
    return OIDCCall.jwtBearer(
      .init(subject: subject, scope: scope, audience: audience), metadata
    ).bound(to: dpopKey)
  }

  func identityToken(
    _ identity: AccountID, subject: String, scope: String, audience: String?
  ) -> (any ProviderCall)? {
    guard provider.settings.identityAssertion.provider != nil else { return nil }
    return OIDCCall.jwtBearer(
      .init(subject: subject, scope: scope, audience: audience, identity: identity), metadata
    ).bound(to: dpopKey)
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
    if kind == .grant {
      guard provider.settings.grantManagement, metadata.grantManagementEndpoint != nil,
        dpopKey != nil || !provider.settings.dpop
      else { return nil }
      return GrantDeletion(grantID: token, metadata: metadata, dpopKey: dpopKey)
    }
    guard metadata.revocationEndpoint != nil else { return nil }
    if let form = provider.settings.oauth2?.revocationRequest, form != .standard {
      // These requests revoke access tokens only, and authenticate themselves in one way only.
      guard kind == .accessToken, form == .slack || !isPublicClient else { return nil }
    }
    return OIDCCall.revoke(.init(token: token, kind: kind, bearer: bearer), metadata)
  }

  func hasRevoked(_ reply: HTTPReply) -> Bool {
    let form = provider.settings.oauth2?.revocationRequest
    guard form == .slack, reply.status == 200 else {
      // GitHub answers 422 for a token that is not valid any more, and Google 400 invalid_token.
      // With status 401 that error is about the bearer of the request (RFC 6750 §3.1).
      return [200, 204].contains(reply.status) || (form == .github && reply.status == 422)
        || (reply.status == 400 && reply.jsonObject?["error"] == "invalid_token")
    }
    // Slack sends an error with status 200.
    let error = reply.jsonObject?["error"]?.stringValue
    let isInvalid = ["account_inactive", "invalid_auth", "token_expired", "token_revoked"]
    return reply.jsonObject?["ok"] == .bool(true) || error.map(isInvalid.contains) ?? false
  }
}
