import FoundationEssentials
import JWTKit

extension OIDCBackend {
  static let jwtBearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

  /// Issues a token for an assertion that a service account has signed (RFC 7523 §2.1).
  func answerAssertion(_ form: Form, _ call: EndpointCall) async throws -> Reply {
    let assertion = try form.required("assertion")
    if let claims = try await workloadIssuer.claims(of: assertion) {
      return try await answerWorkload(claims, form, call)
    }
    if let claims = try await identityClaims(of: assertion) {
      return try await answerIdentityAssertion(claims, form, call)
    }
    let claims = try await verified(assertion)
    guard case .string(let account)? = claims["iss"] else {
      throw OAuthError("invalid_grant", "iss is missing")
    }
    let isAuthenticated = form.has("client_id") || call.headers["authorization"] != nil
    if isAuthenticated {
      let client = try await authenticate(call, form)
      guard client.id == account else {
        throw OAuthError("invalid_grant", "the assertion is of another client")
      }
    } else if settings.fapi2 || clients.named(account)?.secret != nil {
      throw OAuthError.client("this client must authenticate")
    }
    guard case .string(let subject)? = claims["sub"],
      subject == account || settings.assertionSubjects.contains(subject)
    else { throw OAuthError("invalid_grant", "sub is not permitted for this service account") }
    try checkTimes(of: claims, call)
    let scope = try scope(of: claims, form)
    let tokens = ledger.tokens.openForSubject(
      subject, clientID: account, scope: scope, audience: try form.oneAudience(),
      key: try provenKey(call), now: context.clock.now())
    return try await reply(tokens, call, withIDToken: false)
  }

  /// Returns the claims of an assertion whose signature one of the registered keys verifies.
  private func verified(_ assertion: String) async throws -> [String: JSON] {
    for (id, set) in settings.clientKeys {
      let keys = JWTKeyCollection()
      try await keys.add(jwks: set.decoded(as: JWKS.self))
      if let claims = try? await keys.verify(assertion, as: Claims.self).members,
        claims["iss"] == .string(id)
      {
        return claims
      }
    }
    throw OAuthError("invalid_grant", "no registered key verifies the assertion")
  }

  /// Checks for whom, until when and how often the assertion is valid (RFC 7523 §3).
  private func checkTimes(
    of claims: [String: JSON], _ call: EndpointCall
  ) throws(OAuthError) {
    let audience = issuer(call) + (settings.assertionsAreForEndpoint ? "/token" : "")
    guard claims["aud"] == .string(audience) else {
      throw OAuthError("invalid_grant", "aud is not \(audience)")
    }
    let now = Int(context.clock.now().timeIntervalSince1970)
    guard case .integer(let end)? = claims["exp"], (now...now + 300).contains(end),
      case .integer(let start)? = claims["iat"], start <= now
    else {
      throw OAuthError("invalid_grant", "iat or exp is missing, has passed, or is too far away")
    }
    guard case .string(let id)? = claims["jti"], ledger.usedAssertions.insert(id).inserted else {
      throw OAuthError("invalid_grant", "jti is missing or was used before")
    }
  }

  private func scope(
    of claims: [String: JSON], _ form: Form
  ) throws(OAuthError) -> [String] {
    guard settings.assertionsHaveScope else {
      guard claims["scope"] == nil else {
        throw OAuthError("invalid_grant", "the scope is a parameter here, not a claim")
      }
      return try Scope.parse(form["scope"])
    }
    guard form["scope"] == nil else {
      throw OAuthError("invalid_scope", "the scope is a claim of the assertion here")
    }
    guard case .string(let scope)? = claims["scope"] else { return [] }
    return try Scope.parse(scope)
  }
}
