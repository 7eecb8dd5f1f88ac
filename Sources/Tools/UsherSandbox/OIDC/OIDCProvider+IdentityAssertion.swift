import FoundationEssentials
import JWTKit

// Assertions about a person for another provider (ID-JAG,
// draft-ietf-oauth-identity-assertion-authz-grant). The provider issues them as the identity
// provider of an organization, and accepts those for itself.
extension OIDCBackend {
  static let identityAssertionType = "urn:ietf:params:oauth:token-type:id-jag"
  private static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"
  private static let typ = "oauth-id-jag+jwt"
  private static let seconds = 300

  /// Exchanges an ID token for an assertion (§4.3 of the draft).
  func issueIdentityAssertion(
    _ form: Form, _ client: Client, _ call: EndpointCall
  ) async throws -> Reply {
    guard try form.required("subject_token_type") == Self.idTokenType else {
      throw OAuthError("invalid_request", "the subject token must be an ID token")
    }
    let audience = try form.required("audience")
    guard let presenter = settings.identityAssertionClients[audience] else {
      throw OAuthError("invalid_target", "no application of the organization is \(audience)")
    }
    let now = Int(context.clock.now().timeIntervalSince1970)
    guard let claims = try await ownClaims(of: try form.required("subject_token")),
      claims["iss"] == .string(issuer(call)), claims["aud"] == .string(client.id),
      case .integer(let end)? = claims["exp"], end > now
    else { throw OAuthError("invalid_grant", "the ID token is not valid for this client") }
    var assertion: [String: JSON] = [
      "iss": .string(issuer(call)), "sub": claims["sub"] ?? .null, "aud": .string(audience),
      "client_id": .string(presenter), "jti": .string(ledger.tokenGenerator.token("jag")),
      "iat": .integer(now), "exp": .integer(now + Self.seconds),
    ]
    assertion["resource"] = form["resource"].map { .string($0) }
    assertion["scope"] = form["scope"].map { .string($0) }
    var settings = IDTokenSettings()
    settings.typ = Self.typ
    settings.claims = self.settings.identityAssertion
    let token = try await keys.idToken(assertion, settings)
    return .json([
      "access_token": .string(token), "token_type": "N_A", "expires_in": .integer(Self.seconds),
      "issued_token_type": .string(Self.identityAssertionType),
    ])
  }

  /// Returns the claims of an assertion that the provider has issued; nil for any other token.
  func identityClaims(of assertion: String) async throws -> [String: JSON]? {
    guard let header = assertion.split(separator: ".").first,
      let bytes = Base64.decodedURL(header),
      (try? JSON(parsing: bytes))?["typ"] == .string(Self.typ)
    else { return nil }
    return try await ownClaims(of: assertion)
  }

  /// Issues a token for an assertion, to the client that it names (§4.4 of the draft).
  func answerIdentityAssertion(
    _ claims: [String: JSON], _ form: Form, _ call: EndpointCall
  ) async throws -> Reply {
    let client = try await authenticate(call, form)
    let now = Int(context.clock.now().timeIntervalSince1970)
    guard claims["client_id"] == .string(client.id) else {
      throw OAuthError("invalid_grant", "the assertion is for another client")
    }
    guard claims["aud"] == .string(issuer(call)), case .integer(let end)? = claims["exp"], end > now
    else {
      throw OAuthError("invalid_grant", "the assertion is for another provider, or has ended")
    }
    guard case .string(let id)? = claims["jti"], ledger.usedAssertions.insert(id).inserted,
      case .string(let subject)? = claims["sub"]
    else { throw OAuthError("invalid_grant", "jti is missing or was used before") }
    let asked = try Scope.parse(form["scope"])
    let granted = try Scope.parse(claims["scope"]?.text)
    guard asked.allSatisfy(granted.contains) else {
      throw OAuthError("invalid_scope", "the scope exceeds that of the assertion")
    }
    let tokens = ledger.tokens.openForSubject(
      subject, clientID: client.id, scope: granted,
      audience: claims["resource"]?.text, key: try provenKey(call), now: context.clock.now())
    return try await reply(tokens, call, withIDToken: false)
  }

  /// Returns the claims of a token that one of the provider's keys has signed.
  private func ownClaims(of token: String) async throws -> [String: JSON]? {
    let collection = JWTKeyCollection()
    try await collection.add(jwks: keys.keySet().decoded(as: JWKS.self))
    return try? await collection.verify(token, as: Claims.self).members
  }
}
