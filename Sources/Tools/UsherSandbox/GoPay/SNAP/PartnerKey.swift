import Crypto
import CryptoExtras
import FoundationEssentials

/// The RSA key that the partner asks for SNAP's client token with.
struct PartnerKey: Sendable {
  private enum Kind: Sendable {
    case none
    case pair(_RSA.Signing.PrivateKey)
    /// The partner's own, of which only this half is known here.
    case registered(_RSA.Signing.PublicKey)
  }

  private var kind = Kind.none
  /// How many pairs were asked for.
  private var pairs = 0

  /// The pair that is ours. Blocks while it is made: see ``RSAKeys``.
  ///
  /// - Returns: Both halves as PEM: PKCS #8, and SubjectPublicKeyInfo.
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

  /// - Parameter pem: A SubjectPublicKeyInfo of 2048 bits or more.
  mutating func register(_ pem: String) throws(Refusal) {
    guard let key = try? _RSA.Signing.PublicKey(pemRepresentation: pem) else {
      throw Refusal("invalid_request", "publicKey is no RSA key of 2048 bits or more in PEM")
    }
    kind = .registered(key)
  }

  /// Whether a text is signed with SHA256withRSA (PKCS #1 v1.5), in Base64.
  ///
  /// Base64 that is not written as an encoder writes it is wrong: no two texts are one signature.
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
