package import FoundationEssentials

extension TokenLedger {
  /// An authorization code: valid once, for one client, one redirect URI and one verifier, if the
  /// request had a challenge.
  struct Code: Sendable {
    enum State: Sendable {
      case fresh
      /// Redeemed for this grant, or nil if a failed attempt invalidated the code.
      case spent(grant: String?)
    }

    var authorization: TokenAuthorization
    var redirectURI: String
    var challenge: String?
    var expires: Date
    var state = State.fresh
  }

  /// Seconds for which a code is remembered. A replay is detected long after the code expired.
  private static let codeMemory = 86_400.0

  package mutating func issueCode(
    for authorization: TokenAuthorization, redirectURI: String, challenge: String?, now: Date
  ) -> String {
    let code = tokenGenerator.token("ac")
    codes.insert(
      Code(
        authorization: authorization, redirectURI: redirectURI, challenge: challenge,
        expires: now.addingTimeInterval(Double(terms.codeSeconds))),
      for: code, until: now.addingTimeInterval(Self.codeMemory), now: now)
    return code
  }

  /// Returns the redirect URI of the request for which a code was issued; nil if the code is
  /// unknown.
  func requestedRedirectURI(ofCode code: String, now: Date) -> String? {
    codes.value(code, now: now)?.redirectURI
  }

  /// Exchanges a code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.6).
  ///
  /// A second use revokes the tokens of the first use (RFC 6749 §4.1.2). A wrong redirect URI or
  /// verifier invalidates the code. An attempt by another client, or at another brand, does not.
  ///
  /// - Parameter key: The thumbprint of the key of which the request has a proof. The tokens are
  ///   bound to it. It must be that of the authorization request, if that named one (RFC 9449 §10).
  package mutating func redeemCode(
    _ code: String, client: Client, brand: String? = nil, redirectURI: String, verifier: String?,
    key: String? = nil, now: Date
  ) throws(OAuthError) -> IssuedTokens {
    guard let known = codes.value(code, now: now) else {
      throw OAuthError("invalid_grant", "no such code")
    }
    guard known.authorization.clientID == client.id else {
      throw OAuthError("invalid_grant", "the code was issued to another client")
    }
    guard known.authorization.brand == brand else {
      throw OAuthError("invalid_grant", "the code was issued for another brand")
    }
    if case .spent(let grant) = known.state {
      if let grant { revokeGrant(grant) }
      throw OAuthError("invalid_grant", "the code was used before; its tokens are revoked")
    }
    codes.update(code) { $0.state = .spent(grant: nil) }
    guard known.expires > now else { throw OAuthError("invalid_grant", "the code has expired") }
    guard known.redirectURI == redirectURI else {
      throw OAuthError("invalid_grant", "redirect_uri differs from the authorization request")
    }
    guard PKCEVerification.matches(verifier: verifier, challenge: known.challenge) else {
      throw OAuthError("invalid_grant", "code_verifier does not match the code_challenge")
    }
    if let expected = known.authorization.keyThumbprint, expected != key {
      throw OAuthError("invalid_grant", "the code is bound to another DPoP key")
    }
    var authorization = known.authorization
    authorization.keyThumbprint = key
    let opened = open(authorization, now: now)
    codes.update(code) { $0.state = .spent(grant: opened.grant) }
    return opened.tokens
  }
}
