package import FoundationEssentials

extension TokenLedger {
  /// A refresh token of a grant.
  struct RefreshToken: Sendable {
    var grant: String
    /// The refresh token that was exchanged for this one.
    var parent: String?
    /// Whether the token was replaced. Using a replaced token is reuse and revokes the grant.
    var superseded = false
    /// The scope that a refresh may ask for; nil: the whole scope of the grant.
    var scope: [String]?
  }

  mutating func addRefreshToken(
    to grant: String, parent: String?, scope: [String]? = nil, now: Date
  ) -> String {
    let token = tokenGenerator.token(startingWith: terms.refreshTokenPrefix)
    refreshTokens.insert(
      RefreshToken(grant: grant, parent: parent, scope: scope), for: token,
      until: now.addingTimeInterval(Double(terms.refreshTokenSeconds)), now: now)
    return token
  }

  /// Returns the authorization of a refresh token, even if the token was replaced or revoked; nil
  /// if it is unknown or has expired.
  func authorization(ofRefreshToken token: String, now: Date) -> TokenAuthorization? {
    refreshTokens.value(token, now: now).flatMap { grants.value($0.grant, now: now) }?.authorization
  }

  /// Exchanges a refresh token for new tokens (RFC 6749 §6).
  ///
  /// Using a superseded token revokes the whole grant (RFC 9700 §4.14.2), unless the terms say
  /// otherwise. The scope of the new
  /// access token may be narrower than the granted one, never wider. An audience must be one of the
  /// resources of the authorization request (RFC 8707 §2.2). The refresh token of a public client
  /// is bound to the first key of which a request has a proof (RFC 9449 §5).
  ///
  /// - Parameter key: The thumbprint of the key of which the request has a proof.
  package mutating func refresh(
    _ token: String, client: Client, brand: String? = nil, scope: [String]?,
    audience: String? = nil, key: String? = nil, now: Date
  ) throws(OAuthError) -> IssuedTokens {
    guard let known = refreshTokens.value(token, now: now),
      let grant = grants.value(known.grant, now: now)
    else { throw OAuthError("invalid_grant", "the refresh token is unknown or has expired") }
    guard grant.authorization.clientID == client.id else {
      throw OAuthError("invalid_grant", "the refresh token was issued to another client")
    }
    guard grant.authorization.brand == brand else {
      throw OAuthError("invalid_grant", "the refresh token was issued for another brand")
    }
    guard !grant.revoked else { throw OAuthError("invalid_grant", "the grant is revoked") }
    guard !known.superseded else {
      guard terms.reuseEndsGrant else {
        throw OAuthError("invalid_grant", "a superseded refresh token was reused")
      }
      revokeGrant(known.grant)
      throw OAuthError(
        "invalid_grant", "a superseded refresh token was reused; the grant is revoked")
    }
    if client.secret == nil, let expected = grant.authorization.keyThumbprint, expected != key {
      throw OAuthError("invalid_grant", "the refresh token is bound to another DPoP key")
    }
    let granted = known.scope ?? grant.authorization.scope
    let asked = scope ?? granted
    guard asked.allSatisfy(granted.contains) else {
      throw OAuthError("invalid_scope", "the scope exceeds the granted scope")
    }
    if let audience, !grant.authorization.resources.contains(audience) {
      throw OAuthError("invalid_target", "the grant does not include this resource")
    }
    if terms.rotation != .additional { supersedeParent(token, known) }
    if terms.refreshEndsAccessTokens { accessTokens.removeAll { $0.grant == known.grant } }
    var authorization = grant.authorization
    authorization.keyThumbprint = key
    grants.update(known.grant) { $0.authorization = authorization }
    var tokens = accessTokens(
      for: known.grant, authorization, scope: asked, audience: audience, now: now)
    tokens.refreshToken = successor(
      of: token, in: known.grant, scope: terms.bindsRefreshScope ? asked : nil, now: now)
    return tokens
  }

  /// Supersedes the token's parent and all other tokens issued for that parent. Using the token
  /// proves that the client received the response that contained it.
  private mutating func supersedeParent(_ token: String, _ known: RefreshToken) {
    guard let parent = known.parent else { return }
    refreshTokens.update(parent) { $0.superseded = true }
    refreshTokens.updateAll { $0.superseded = $0.superseded || $0.parent == parent }
    refreshTokens.update(token) { $0.superseded = false }
  }

  private mutating func successor(
    of token: String, in grant: String, scope: [String]?, now: Date
  ) -> String? {
    switch terms.rotation {
    case .off: return nil
    case .graceful, .additional: break
    case .strict: refreshTokens.update(token) { $0.superseded = true }
    }
    return addRefreshToken(to: grant, parent: token, scope: scope, now: now)
  }
}
