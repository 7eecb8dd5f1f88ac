package import UsherCore

/// How the tokens of one provider type are refreshed and revoked.
///
/// A dialect only creates calls and interprets replies. The daemon sends the calls, schedules them
/// and stores the tokens.
package protocol TokenDialect: Sendable {
  /// Whether the daemon has no client secret at the provider. Some servers then require the access
  /// token as authentication for a revocation.
  var isPublicClient: Bool { get }

  /// Why no token may be fetched from the provider, as a sentence; nil if tokens may be fetched.
  /// Tokens are revoked in any case.
  var flaw: String? { get }

  /// Returns the call that refreshes an access token; nil if the provider does not refresh tokens.
  /// Even then an account can hold a refresh token, from a time when a provider of another type had
  /// the same name in the configuration.
  ///
  /// - Parameter scope: The scope of the grant or a part of it; nil asks for all of it.
  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)?

  /// Returns the call that fetches an access token for an audience; nil if the provider issues
  /// tokens for one audience only.
  func renewal(_ refreshToken: Secret, scope: String?, audience: String) -> (any ProviderCall)?

  /// Returns the call that exchanges an access token for one for an audience (RFC 8693); nil if the
  /// configuration does not say that the provider exchanges tokens.
  ///
  /// - Parameter scope: The scope of the new token; nil if the provider decides.
  func exchange(
    _ accessToken: Secret, scope: String?, audience: String
  ) -> (any ProviderCall)?

  /// Returns the call that fetches an access token for the client itself; nil if the configuration
  /// does not permit it.
  ///
  /// - Parameters:
  ///   - scope: The whole scope of the token.
  ///   - audience: The audience of the token; nil for what the provider issues without one.
  func clientToken(scope: String, audience: String?) -> (any ProviderCall)?

  /// Returns the call that fetches an access token by an assertion that the daemon signs (RFC 7523
  /// §2.1); nil if the configuration does not permit it for this subject. The parameters are those
  /// of ``clientToken(scope:audience:)``.
  func assertionToken(
    subject: String, scope: String, audience: String?
  ) -> (any ProviderCall)?

  /// Returns the call that fetches an access token by the assertion of another provider about the
  /// person of an account there; nil if the configuration does not permit it. The other parameters
  /// are those of ``clientToken(scope:audience:)``.
  func identityToken(
    _ identity: AccountID, subject: String, scope: String, audience: String?
  ) -> (any ProviderCall)?

  func read(_ reply: HTTPReply, to request: TokenRequest, at now: Timestamp) -> TokenReply

  /// Returns the dialect for tokens that are bound to a key (RFC 9449); the same one if the
  /// provider binds no tokens.
  func bound(to key: Sealed<Secret>) -> any TokenDialect

  /// Returns why refreshed tokens do not belong to the account, as a sentence; nil if they may
  /// belong to it.
  ///
  /// - Parameter signIn: The claims of the sign-in's ID token; nil if they are not known.
  func flaw(in tokens: TokenSet, of subject: String, signIn: SignInClaims?) -> String?

  /// Returns the call that revokes a token; nil if the provider does not revoke tokens.
  ///
  /// - Parameter bearer: An access token to send in place of the client's own authentication.
  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)?

  /// Whether a reply to the revocation call says that the token is no longer valid.
  func hasRevoked(_ reply: HTTPReply) -> Bool
}

/// The kind of a token that is revoked; the value of `token_type_hint` (RFC 7009 §2.1).
package enum TokenKind: String, Codable, Sendable {
  case accessToken = "access_token"
  case refreshToken = "refresh_token"
  /// The name of a grant, which is deleted with all its tokens (Grant Management for OAuth 2.0). It
  /// is never a `token_type_hint`.
  case grant
}

extension TokenDialect {
  package var isPublicClient: Bool { false }

  package var flaw: String? { nil }

  package func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? { nil }

  package func renewal(
    _ refreshToken: Secret, scope: String?, audience: String
  ) -> (any ProviderCall)? { nil }

  package func exchange(
    _ accessToken: Secret, scope: String?, audience: String
  ) -> (any ProviderCall)? { nil }

  package func clientToken(scope: String, audience: String?) -> (any ProviderCall)? { nil }

  package func assertionToken(
    subject: String, scope: String, audience: String?
  ) -> (any ProviderCall)? { nil }

  package func identityToken(
    _ identity: AccountID, subject: String, scope: String, audience: String?
  ) -> (any ProviderCall)? { nil }

  package func read(
    _ reply: HTTPReply, to request: TokenRequest, at now: Timestamp
  ) -> TokenReply { TokenReply(reply, to: request, at: now) }

  package func bound(to key: Sealed<Secret>) -> any TokenDialect { self }

  package func flaw(
    in tokens: TokenSet, of subject: String, signIn: SignInClaims?
  ) -> String? { nil }

  package func revocation(
    _ token: Secret, _ kind: TokenKind, bearer: Secret?
  ) -> (any ProviderCall)? { nil }

  /// Accepts 200, which a server also sends for an unknown token (RFC 7009 §2.2), and 204.
  package func hasRevoked(_ reply: HTTPReply) -> Bool { [200, 204].contains(reply.status) }
}

/// The dialect for the tokens of a provider, or a function that creates it from the provider's
/// metadata.
package enum TokenHandling: Sendable {
  case known(any TokenDialect)
  /// The dialect depends on the provider's metadata, which must be discovered first.
  case discovered(@Sendable (OIDCMetadata) -> any TokenDialect)
}
