package import UsherCore

/// How the tokens of one type of provider are renewed and taken back.
///
/// It names calls and reads replies; sending, waiting and keeping is the daemon's.
package protocol TokenDialect: Sendable {
  /// Whether the client has no secret: then some servers want the access token as proof when a token
  /// is taken back.
  var isPublicClient: Bool { get }

  /// - Parameter scope: What the grant covers or a part of it; nil asks for all of it.
  /// - Returns: Nil where the provider renews no tokens: an account may have a refresh token from a
  ///   time when its provider's name meant another one.
  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)?

  func read(_ reply: HTTPReply, to request: TokenRequest, at now: Timestamp) -> TokenReply

  /// Why renewed tokens cannot be those of the account they were asked for; a sentence.
  func flaw(in tokens: TokenSet, of subject: String) -> String?

  /// - Parameter bearer: An access token in place of the client's own proof.
  /// - Returns: Nil where the provider takes no tokens back.
  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)?

  /// Whether a reply to that says that the token is worth nothing any more.
  func hasTakenBack(_ reply: HTTPReply) -> Bool
}

/// RFC 7009 §2.1.
package enum TokenKind: String, Sendable {
  case accessToken = "access_token"
  case refreshToken = "refresh_token"
}

extension TokenDialect {
  package func read(
    _ reply: HTTPReply, to request: TokenRequest, at now: Timestamp
  ) -> TokenReply { TokenReply(reply, to: request, at: now) }

  package func flaw(in tokens: TokenSet, of subject: String) -> String? { nil }

  /// RFC 7009 §2.2: 200, also for a token that is unknown.
  package func hasTakenBack(_ reply: HTTPReply) -> Bool { [200, 204].contains(reply.status) }

  /// What takes back a grant nobody will use: its refresh token where it has one (RFC 7009 §2.1 lets
  /// that end the whole grant).
  package func revoking(_ tokens: TokenSet) -> [any ProviderCall] {
    let call =
      if let refresh = tokens.refreshToken {
        revocation(refresh.unsealed(), .refreshToken, bearer: nil)
      } else {
        revocation(tokens.accessToken.unsealed(), .accessToken, bearer: nil)
      }
    return call.map { [$0] } ?? []
  }
}

/// What has to be known before a provider's tokens can be handled.
package enum TokenHandling: Sendable {
  case known(any TokenDialect)
  /// The provider's metadata first.
  case discovered(@Sendable (OIDCMetadata) -> any TokenDialect)
}
