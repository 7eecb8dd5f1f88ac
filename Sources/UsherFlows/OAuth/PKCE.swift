import Crypto
package import UsherCore

/// Proof Key for Code Exchange with S256, the only supported method (RFC 7636, RFC 9700 §2.1.1).
package enum PKCE {
  /// Creates a code verifier of 43 characters with 256 bits of entropy (RFC 7636 §4.1, §7.1).
  package static func verifier(_ transition: inout TransitionContext) -> Secret {
    Secret(Base64URL.encode(transition.random(32)))
  }

  /// Returns the code challenge, `BASE64URL(SHA256(ASCII(verifier)))` (RFC 7636 §4.2).
  package static func challenge(of verifier: Secret) -> String {
    Base64URL.encode(SHA256.hash(data: Array(verifier.revealed().utf8)))
  }
}
