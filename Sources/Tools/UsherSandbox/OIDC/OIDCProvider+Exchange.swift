import FoundationEssentials

extension OIDCBackend {
  static let tokenExchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
  private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"

  /// Exchanges an access token for one for an audience (RFC 8693 §2).
  ///
  /// - Parameter key: The thumbprint of the key of which the request has a proof; nil without one.
  func exchangeToken(
    _ form: Form, _ client: Client, key: String?, _ call: EndpointCall
  ) async throws -> Reply {
    if form["requested_token_type"] == Self.identityAssertionType {
      return try await issueIdentityAssertion(form, client, call)
    }
    guard try form.required("subject_token_type") == Self.accessTokenType,
      form["requested_token_type"] ?? Self.accessTokenType == Self.accessTokenType
    else { throw OAuthError("invalid_request", "only access tokens are exchanged") }
    guard !form.has("actor_token") else {
      throw OAuthError("invalid_request", "actor tokens are not supported")
    }
    guard let audience = try form.oneAudience() else {
      throw OAuthError("invalid_target", "the request names no audience")
    }
    guard settings.exchangeAudiences.isEmpty || settings.exchangeAudiences.contains(audience) else {
      throw OAuthError("invalid_target", "the client may not call this audience")
    }
    let tokens = try ledger.tokens.exchange(
      try form.required("subject_token"), client: client,
      scope: try form["scope"].map(Scope.parse), audience: audience, key: key,
      now: context.clock.now())
    return try await reply(
      tokens, call, withIDToken: false,
      more: ["issued_token_type": .string(Self.accessTokenType)])
  }
}

extension TokenLedger {
  /// Issues an access token for an audience in exchange for one without (RFC 8693 §2.1).
  mutating func exchange(
    _ subject: String, client: Client, scope: [String]?, audience: String, key: String?, now: Date
  ) throws(OAuthError) -> IssuedTokens {
    // RFC 8693 §2.2.2: an unacceptable subject token makes the request invalid.
    guard let known = accessTokens.value(subject, now: now),
      let permission = permission(of: subject, now: now)
    else { throw OAuthError("invalid_request", "the subject token is unknown or has ended") }
    guard permission.clientID == client.id else {
      throw OAuthError("invalid_request", "the subject token was issued to another client")
    }
    guard permission.audience == nil else {
      throw OAuthError("invalid_request", "the subject token is for an audience")
    }
    guard permission.keyThumbprint == key else {
      throw OAuthError("invalid_request", "the subject token is bound to another key")
    }
    let asked = scope ?? permission.scope
    guard asked.allSatisfy(permission.scope.contains) else {
      throw OAuthError("invalid_scope", "the scope exceeds that of the subject token")
    }
    return accessTokens(
      for: known.grant, permission, scope: asked, audience: audience, now: now)
  }
}
