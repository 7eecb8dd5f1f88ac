import Crypto
import JSONRPC
import UsherConfig
import UsherCore

/// A signed statement of the daemon as a client: the client's authentication (RFC 7523 §2.2, OIDC
/// Core §9), or the grant for which a provider issues a token (RFC 7523 §2.1).
struct ClientAssertion {
  static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// How long an assertion is valid. It is used once, at once.
  static let lifetime = Duration.seconds(60)

  private let claims: [String: JSONValue]

  /// - Parameter audience: The provider's issuer identifier, or its token endpoint.
  init(clientID: String, audience: String, at transition: TransitionContext) {
    self.init(issuer: clientID, subject: clientID, audience: audience, at: transition)
  }

  /// - Parameter scope: The scope that the statement asks for; nil if it asks for none.
  init(
    issuer: String, subject: String, audience: String, scope: String? = nil,
    at transition: TransitionContext
  ) {
    var transition = transition
    // A provider whose clock is behind would refuse a statement from the future.
    let issuedAt = transition.now - .seconds(5)
    var claims: [String: JSONValue] = [
      "iss": .string(issuer), "sub": .string(subject), "aud": .string(audience),
      "jti": .string(Base64URL.encode(transition.random(16))),
      "iat": .integer(issuedAt.milliseconds / 1000),
      "exp": .integer((transition.now + Self.lifetime).milliseconds / 1000),
    ]
    claims["scope"] = scope.map { .string($0) }
    self.claims = claims
  }

  /// Returns the assertion signed with the client's private key.
  ///
  /// - Parameters:
  ///   - pem: The key.
  ///   - profile: The security profile that limits the algorithms.
  ///   - accepted: The signature algorithms that the provider accepts; nil if it lists none.
  ///   - keyID: The id under which the provider knows the key; nil: the key's thumbprint.
  /// - Throws: Why the key cannot sign: the end of a sentence that begins with its name.
  func signed(
    by pem: Secret, profile: OIDCProfile, accepted: [String]?, keyID: String? = nil
  ) throws(InvalidValue) -> Secret {
    let key = try ClientKey(pem: pem, permittedBy: profile)
    let accepted = profile.accepted(accepted)
    guard let token = key.token(type: "JWT", claims, accepted: accepted, named: keyID) else {
      throw InvalidValue(ClientKey.flaw)
    }
    return token
  }

  /// Returns the assertion with a message authentication code by the client secret (HS256).
  func signed(with secret: Secret) -> Secret {
    let text = JSONWebToken.signingInput(["alg": "HS256", "typ": "JWT"], claims)
    let code = HMAC<SHA256>.authenticationCode(
      for: Array(text.utf8), using: SymmetricKey(data: Array(secret.revealed().utf8)))
    return Secret(text + "." + Base64URL.encode(code))
  }
}
