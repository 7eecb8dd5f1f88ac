/// The signature algorithms of ID tokens and userinfo answers (RFC 7518 §3.1, RFC 8037 §3.1).
package enum SigningAlgorithm: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case rs256 = "RS256"
  case rs384 = "RS384"
  case rs512 = "RS512"
  case ps256 = "PS256"
  case ps384 = "PS384"
  case ps512 = "PS512"
  case es256 = "ES256"
  case es384 = "ES384"
  case es512 = "ES512"
  /// Only with the curve Ed25519.
  case edDSA = "EdDSA"
  case hs256 = "HS256"
  case hs384 = "HS384"
  case hs512 = "HS512"

  /// Whether the client secret is the key. Such an algorithm is used only if the configuration
  /// names it, so that a public key cannot be mistaken for a shared secret.
  package var usesClientSecret: Bool {
    switch self {
    case .hs256, .hs384, .hs512: true
    case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .es512, .edDSA: false
    }
  }
}

/// How the key that encrypts an ID token or userinfo answer is sent to the daemon (RFC 7518 §4.1).
package enum KeyManagementAlgorithm: String, TextSetting, Codable, CaseIterable, Equatable, Sendable
{
  case rsaOAEP256 = "RSA-OAEP-256"
  case ecdhES = "ECDH-ES"
  case ecdhESA128KW = "ECDH-ES+A128KW"
  case ecdhESA256KW = "ECDH-ES+A256KW"
}
