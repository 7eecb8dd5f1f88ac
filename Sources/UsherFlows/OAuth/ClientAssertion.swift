import Crypto
import JSONRPC
import UsherCore

/// A signed statement by which the daemon authenticates itself as a client (RFC 7523 §3, OIDC Core
/// §9).
struct ClientAssertion {
  static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// How long an assertion is valid. It is used once, at once.
  static let lifetime = Duration.seconds(60)

  private let claims: [String: JSONValue]

  /// - Parameter audience: The provider's issuer identifier, or its token endpoint.
  init(clientID: String, audience: String, at transition: TransitionContext) {
    var transition = transition
    // A provider whose clock is behind would refuse a statement from the future.
    let issuedAt = transition.now - .seconds(5)
    claims = [
      "iss": .string(clientID), "sub": .string(clientID), "aud": .string(audience),
      "jti": .string(Base64URL.encode(transition.random(16))),
      "iat": .integer(issuedAt.milliseconds / 1000),
      "exp": .integer((transition.now + Self.lifetime).milliseconds / 1000),
    ]
  }

  /// Returns the assertion signed with the client's private key.
  ///
  /// - Parameter accepted: The signature algorithms that the provider accepts; nil if it does not
  ///   list them.
  /// - Returns: Nil if the key cannot sign.
  func signed(with key: ClientKey, accepted: [String]?) -> Secret? {
    key.token(type: "JWT", claims, accepted: accepted)
  }

  /// Returns the assertion with a message authentication code by the client secret (HS256).
  func signed(with secret: Secret) -> Secret {
    let text = JSONWebToken.signingInput(["alg": "HS256", "typ": "JWT"], claims)
    let code = HMAC<SHA256>.authenticationCode(
      for: Array(text.utf8), using: SymmetricKey(data: Array(secret.revealed().utf8)))
    return Secret(text + "." + Base64URL.encode(code))
  }
}
