package import FoundationEssentials

/// A user's consent to a client.
package struct TokenAuthorization: Sendable, Hashable {
  package var clientID: String
  package var user: User
  package var scope: [String]
  package var nonce: String?
  package var authTime: Date
  /// The tenant, for a provider that serves several brands.
  package var brand: String?
  /// The parameter `access_type` of the authorization request, which Google has in place of the
  /// scope `offline_access`.
  package var accessType: String?
  /// The parameter `prompt` of the authorization request.
  package var prompt: String?
  /// The resources that the authorization request named (RFC 8707 §2).
  package var resources: [String] = []
  /// The resource for which an access token is; nil for one without.
  package var audience: String?
  /// The claims that the authorization request named.
  package var claims = RequestedClaims()
  /// Whether the consent was given for a device (RFC 8628).
  package var isDevice = false
  /// The thumbprint of the key to which the code or the tokens are bound (RFC 9449); nil if they
  /// are bound to none.
  package var keyThumbprint: String?
  /// The name of the grant that the client knows; nil if it did not ask for one.
  package var grantID: String?
}

/// The claims that the parameter `claims` names (OIDC Core §5.5), beside those of the scope.
package struct RequestedClaims: Sendable, Hashable {
  package var userinfo: Set<String> = []
  package var idToken: Set<String> = []
}

/// A successful response of the token endpoint, before it is encoded as JSON.
package struct IssuedTokens: Sendable, Equatable {
  package var accessToken: String
  package var expiresIn: Int
  package var refreshToken: String?
  package var scope: [String]
  package var authorization: TokenAuthorization
}

/// Lifetimes in seconds, and the rules for refresh tokens.
package struct TokenTerms: Sendable, Hashable {
  /// What a refresh does to the refresh token that was used.
  package enum Rotation: String, Sendable, Codable {
    /// The token becomes invalid at once.
    case strict
    /// The token stays valid until its successor is first used, in case a response was lost.
    case graceful
    /// The token stays valid and the response contains no new one.
    case off = "none"
    /// The token stays valid, and so does the new one that the response contains.
    case additional
  }

  /// Which grants include a refresh token.
  package enum RefreshTokens: Sendable, Hashable {
    case never
    case always
    /// Grants whose scope includes this word.
    case withScope(String)
    /// Grants whose authorization request had `access_type=offline`, and those of devices.
    case withOfflineAccessType
    /// Those of ``withOfflineAccessType``, if the authorization request had `prompt=consent` or the
    /// user had no grant for the client yet, as at Google.
    case withNewConsent
    /// Grants of devices.
    case forDevices
  }

  package var accessTokenSeconds: Int
  package var refreshTokenSeconds: Int
  package var codeSeconds: Int
  package var rotation = Rotation.strict
  package var refreshTokens = RefreshTokens.always
  /// Whether a new refresh token is limited to the scope that its predecessor was used with.
  package var bindsRefreshScope = false
  /// Whether a refresh invalidates the earlier access tokens of its grant.
  package var refreshEndsAccessTokens = false
  /// Whether the use of a replaced refresh token revokes its grant (RFC 9700 §4.14.2).
  package var reuseEndsGrant = true
  /// Whether a new grant replaces the refresh tokens of the user's earlier grants for the client.
  package var newGrantReplacesRefreshTokens = false
  package var accessTokenPrefix = "at_"
  package var refreshTokenPrefix = "rt_"
}

/// The codes, grants and tokens of a provider, as one value.
///
/// It reads no clock: callers pass the time. Every table is bounded.
package struct TokenLedger: Sendable {
  /// A user's consent and all tokens issued for it, which are revoked together.
  struct Grant: Sendable {
    var authorization: TokenAuthorization
    var revoked = false
  }

  struct AccessToken: Sendable {
    var grant: String
    var scope: [String]
    var audience: String?
    /// The thumbprint of the key to which the token is bound; nil if it is bound to none.
    var keyThumbprint: String?
  }

  package var terms: TokenTerms
  let tokenGenerator: TokenGenerator
  var codes = ExpiringTable<Code>()
  var grants = ExpiringTable<Grant>()
  var accessTokens = ExpiringTable<AccessToken>()
  var refreshTokens = ExpiringTable<RefreshToken>()

  package init(_ terms: TokenTerms, tokenGenerator: TokenGenerator = TokenGenerator()) {
    self.terms = terms
    self.tokenGenerator = tokenGenerator
  }

  /// Seconds for which a grant is remembered, longer than the lifetime of any token.
  private static let grantSeconds = 2.0e9

  /// Creates a grant and issues its first tokens.
  mutating func open(
    _ authorization: TokenAuthorization, now: Date
  ) -> (grant: String, tokens: IssuedTokens) {
    let grant = tokenGenerator.token("gr")
    let earlier = earlierGrants(authorization)
    if terms.newGrantReplacesRefreshTokens {
      refreshTokens.updateAll { if earlier.contains($0.grant) { $0.superseded = true } }
    }
    grants.insert(
      Grant(authorization: authorization), for: grant,
      until: now.addingTimeInterval(Self.grantSeconds), now: now)
    var tokens = accessTokens(for: grant, authorization, scope: authorization.scope, now: now)
    if includesRefreshToken(authorization, isFirst: earlier.isEmpty) {
      tokens.refreshToken = addRefreshToken(to: grant, parent: nil, now: now)
    }
    return (grant, tokens)
  }

  /// Issues an access token for a client itself (RFC 6749 §4.4), without a refresh token.
  mutating func openForClient(
    _ client: Client, scope: [String], audience: String?, key: String? = nil, now: Date
  ) -> IssuedTokens {
    openForSubject(
      client.id, clientID: client.id, scope: scope, audience: audience, key: key, now: now)
  }

  /// Issues an access token about a subject to a client, without a refresh token.
  mutating func openForSubject(
    _ subject: String, clientID: String, scope: [String], audience: String?, key: String?,
    now: Date
  ) -> IssuedTokens {
    let user = User(username: subject, password: "", sub: subject, name: subject)
    let authorization = TokenAuthorization(
      clientID: clientID, user: user, scope: scope, authTime: now, keyThumbprint: key)
    let grant = tokenGenerator.token("gr")
    grants.insert(
      Grant(authorization: authorization), for: grant,
      until: now.addingTimeInterval(Self.grantSeconds), now: now)
    return accessTokens(for: grant, authorization, scope: scope, audience: audience, now: now)
  }

  /// Returns the grants that the user has already given the client and that are not revoked; empty
  /// if the terms do not depend on them.
  private func earlierGrants(_ authorization: TokenAuthorization) -> Set<String> {
    guard terms.newGrantReplacesRefreshTokens || terms.refreshTokens == .withNewConsent else {
      return []
    }
    let earlier = grants.listing.filter { _, grant, _, _ in
      !grant.revoked && grant.authorization.clientID == authorization.clientID
        && grant.authorization.user.sub == authorization.user.sub
    }
    return Set(earlier.map(\.key))
  }

  /// - Parameter isFirst: Whether the user has no other grant for the client.
  private func includesRefreshToken(_ authorization: TokenAuthorization, isFirst: Bool) -> Bool {
    let isOffline = authorization.accessType == "offline"
    return switch terms.refreshTokens {
    case .never: false
    case .always: true
    case .withScope(let word): authorization.scope.contains(word)
    case .withOfflineAccessType: isOffline || authorization.isDevice
    case .withNewConsent:
      (isOffline && (isFirst || authorization.prompt == "consent")) || authorization.isDevice
    case .forDevices: authorization.isDevice
    }
  }

  /// Issues a new access token of a grant.
  mutating func accessTokens(
    for grant: String, _ authorization: TokenAuthorization, scope: [String],
    audience: String? = nil, now: Date
  ) -> IssuedTokens {
    let token = tokenGenerator.token(startingWith: terms.accessTokenPrefix)
    accessTokens.insert(
      AccessToken(
        grant: grant, scope: scope, audience: audience,
        keyThumbprint: authorization.keyThumbprint),
      for: token,
      until: now.addingTimeInterval(Double(terms.accessTokenSeconds)), now: now)
    return IssuedTokens(
      accessToken: token, expiresIn: terms.accessTokenSeconds, refreshToken: nil, scope: scope,
      authorization: authorization)
  }

  /// Returns the authorization of an access token; nil if the token is unknown, expired or revoked.
  package func permission(of accessToken: String, now: Date) -> TokenAuthorization? {
    guard
      let token = accessTokens.value(accessToken, now: now),
      let grant = grants.value(token.grant, now: now), !grant.revoked
    else { return nil }
    var authorization = grant.authorization
    authorization.scope = token.scope
    authorization.audience = token.audience
    authorization.keyThumbprint = token.keyThumbprint
    return authorization
  }

  mutating func revokeGrant(_ id: String) {
    grants.update(id) { $0.revoked = true }
  }

  /// Revokes a token (RFC 7009 §2). An unknown token is not an error (RFC 7009 §2.2).
  ///
  /// A refresh token is revoked with its whole grant, an access token alone.
  package mutating func revoke(_ token: String, client: Client, now: Date) throws(OAuthError) {
    let refresh = refreshTokens.value(token, now: now)?.grant
    guard let id = refresh ?? accessTokens.value(token, now: now)?.grant,
      let grant = grants.value(id, now: now)
    else { return }
    guard grant.authorization.clientID == client.id else {
      throw OAuthError("invalid_grant", "the token was issued to another client")
    }
    if refresh != nil { revokeGrant(id) } else { accessTokens.remove(token) }
  }

  /// Revokes the grant of a token of either kind.
  ///
  /// - Returns: Whether the token was valid.
  mutating func revokeGrant(ofToken token: String, now: Date) -> Bool {
    let refresh = refreshTokens.value(token, now: now).flatMap { $0.superseded ? nil : $0.grant }
    guard let id = refresh ?? accessTokens.value(token, now: now)?.grant,
      let grant = grants.value(id, now: now), !grant.revoked
    else { return false }
    revokeGrant(id)
    return true
  }

  /// Invalidates all access tokens. Refresh tokens stay valid.
  package mutating func endAccessTokens() {
    accessTokens = ExpiringTable()
  }

  /// Revokes all grants of a client.
  mutating func revokeGrants(of client: String) {
    grants.updateAll { if $0.authorization.clientID == client { $0.revoked = true } }
  }

  /// Revokes all grants with the name that the client knows.
  mutating func revokeGrants(named id: String) {
    grants.updateAll { if $0.authorization.grantID == id { $0.revoked = true } }
  }

  /// Revokes all grants, like a provider that lost its sessions.
  package mutating func revokeAll() {
    grants.updateAll { $0.revoked = true }
  }

  /// Returns the authorization of an active token of either kind, else nil (RFC 7662 §2.2).
  package func introspection(of token: String, now: Date) -> TokenAuthorization? {
    if let permission = permission(of: token, now: now) { return permission }
    guard
      let refresh = refreshTokens.value(token, now: now), !refresh.superseded,
      let grant = grants.value(refresh.grant, now: now), !grant.revoked
    else { return nil }
    return grant.authorization
  }
}
