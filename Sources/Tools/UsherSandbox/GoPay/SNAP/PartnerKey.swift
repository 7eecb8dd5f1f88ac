import Crypto
import CryptoExtras
import FoundationEssentials

/// The RSA key with which the partner signs its requests for a B2B token.
struct PartnerKey: Sendable {
  private enum Kind: Sendable {
    case none
    case pair(_RSA.Signing.PrivateKey)
    /// A key of the partner's own, of which the sandbox knows only the public key.
    case registered(_RSA.Signing.PublicKey)
  }

  private var kind = Kind.none
  /// The number of key pairs that were requested.
  private var pairs = 0

  /// Returns the sandbox's own key pair. Blocks if it must generate one; see ``RSAKeys``.
  ///
  /// - Returns: Both keys as PEM: PKCS #8 and SubjectPublicKeyInfo.
  mutating func pair() throws -> (privateKey: String, publicKey: String) {
    let key: _RSA.Signing.PrivateKey
    switch kind {
    case .pair(let present): key = present
    case .none, .registered:
      pairs += 1
      key = try RSAKeys.key(pairs)
      kind = .pair(key)
    }
    return (key.pkcs8PEMRepresentation, key.publicKey.pemRepresentation)
  }

  mutating func forget() { kind = .none }

  /// Registers the partner's own public key.
  ///
  /// - Parameter pem: A SubjectPublicKeyInfo of 2048 bits or more.
  mutating func register(_ pem: String) throws(OAuthError) {
    guard let key = try? _RSA.Signing.PublicKey(pemRepresentation: pem) else {
      throw OAuthError("invalid_request", "publicKey is not an RSA key of 2048 bits or more in PEM")
    }
    kind = .registered(key)
  }

  /// Whether the text has this SHA256withRSA signature (PKCS #1 v1.5) in Base64.
  ///
  /// Non-canonical Base64 is refused, so that each signature has only one text.
  func isValid(_ signature: String, over text: String) -> Bool {
    guard let key = publicKey, let bytes = Data(base64Encoded: signature),
      bytes.base64EncodedString() == signature
    else { return false }
    return key.isValidSignature(
      .init(rawRepresentation: bytes), for: SHA256.hash(data: Data(text.utf8)),
      padding: .insecurePKCS1v1_5)
  }

  private var publicKey: _RSA.Signing.PublicKey? {
    switch kind {
    case .none: nil
    case .pair(let key): key.publicKey
    case .registered(let key): key
    }
  }
}
