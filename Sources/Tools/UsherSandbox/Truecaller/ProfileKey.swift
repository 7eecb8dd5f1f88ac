import Crypto
import CryptoExtras
import FoundationEssentials

/// The key that signs profiles.
struct ProfileKey: Sendable {
  /// The number of the RSA key, from 1.
  let number: Int
  private let other = P256.Signing.PrivateKey()

  init(_ number: Int) { self.number = number }

  /// The private key. The first use generates it and blocks meanwhile; see ``RSAKeys``.
  private var key: _RSA.Signing.PrivateKey {
    get throws { try RSAKeys.key(number) }
  }

  /// Returns the body of `GET /v1/key`: the public key as SubjectPublicKeyInfo in Base64.
  ///
  /// - Parameter otherFirst: Whether a key of another type precedes it.
  func list(otherFirst: Bool) throws -> JSON {
    let rsa = Self.entry("RSA", try key.publicKey.derRepresentation)
    guard otherFirst else { return .array([rsa]) }
    return .array([Self.entry("EC", other.publicKey.derRepresentation), rsa])
  }

  /// Returns `payload`, `signature` and `signatureAlgorithm` of a profile, signed in the given way.
  func signed(
    _ profile: [String: JSON], _ way: TruecallerBackendSettings.Signature = .right
  ) throws -> [String: JSON] {
    let json = JSON.object(profile).encoded()
    let payload = Data(json).base64EncodedString()
    let signature =
      switch way {
      case .absent: Data()
      // The vendor signs the Base64 text, not the bytes that it decodes to.
      case .right: try signature(over: Array(payload.utf8))
      case .wrong: Self.damaged(try signature(over: Array(payload.utf8)))
      case .overDecoded: try signature(over: json)
      }
    guard !signature.isEmpty else { return [:] }
    return [
      "payload": .string(payload), "signature": .string(signature.base64EncodedString()),
      "signatureAlgorithm": "SHA512withRSA",
    ]
  }

  private func signature(over bytes: [UInt8]) throws -> Data {
    try key.signature(for: SHA512.hash(data: bytes), padding: .insecurePKCS1v1_5)
      .rawRepresentation
  }

  private static func damaged(_ signature: Data) -> Data {
    var bytes = Array(signature)
    if let last = bytes.indices.last { bytes[last] ^= 1 }
    return Data(bytes)
  }

  private static func entry(_ type: JSON, _ key: Data) -> JSON {
    ["keyType": type, "key": .string(key.base64EncodedString())]
  }
}
