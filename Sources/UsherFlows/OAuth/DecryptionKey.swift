import Crypto
import CryptoExtras
import FoundationEssentials
package import JSONRPC
package import UsherConfig
package import UsherCore

/// A private key with which the daemon decrypts what a provider encrypted for it.
package struct DecryptionKey: Sendable {
  private enum Key: Sendable {
    case p256(P256.KeyAgreement.PrivateKey)
    case p384(P384.KeyAgreement.PrivateKey)
    case rsa(_RSA.Signing.PrivateKey)
  }

  private let key: Key

  /// Reads a key in PEM: an EC key on P-256 or P-384, or an RSA key.
  ///
  /// - Returns: Nil if the text is none of these.
  package init?(pem: Secret) {
    let text = pem.revealed()
    if let key = try? P256.KeyAgreement.PrivateKey(pemRepresentation: text) {
      self.key = .p256(key)
    } else if let key = try? P384.KeyAgreement.PrivateKey(pemRepresentation: text) {
      self.key = .p384(key)
    } else if let key = try? _RSA.Signing.PrivateKey(pemRepresentation: text),
      key.keySizeInBits >= ClientKey.minRSABits
    {
      self.key = .rsa(key)
    } else {
      return nil
    }
  }

  /// The end of a sentence about a credential that is no usable key, which begins with its name.
  package static let flaw =
    "is not a PEM text with an EC key (P-256 or P-384), or an RSA key of \(ClientKey.minRSABits) "
    + "bits or more"

  /// Returns why the key cannot be used with an algorithm, as the end of a sentence that begins
  /// with the credential's name; nil if it can.
  package func flaw(for algorithm: KeyManagementAlgorithm) -> String? {
    let isRSA = if case .rsa = key { true } else { false }
    guard isRSA != algorithm.usesRSA else { return nil }
    return "is \(isRSA ? "an RSA" : "an EC") key, and \(algorithm.rawValue) needs "
      + (isRSA ? "an EC key" : "an RSA key")
  }

  /// The public key as a JWK (RFC 7517) with `use` and `kid`.
  ///
  /// - Parameter algorithm: The value of `alg`.
  package func publicJWK(for algorithm: KeyManagementAlgorithm) -> JSONValue {
    var members = required
    members["kid"] = .string(JSONWebKey.thumbprint(of: required))
    members["use"] = "enc"
    members["alg"] = .string(algorithm.rawValue)
    return .object(members)
  }

  private var required: [String: JSONValue] {
    switch key {
    case .p256(let key): JSONWebKey.elliptic("P-256", key.publicKey.rawRepresentation)
    case .p384(let key): JSONWebKey.elliptic("P-384", key.publicKey.rawRepresentation)
    case .rsa(let key): JSONWebKey.rsa(key.publicKey)
    }
  }

  /// Decrypts a content encryption key by RSA-OAEP with SHA-256 (RFC 7518 §4.3).
  ///
  /// - Returns: Nil if that fails, or the key is not an RSA key.
  func decryptRSA(_ bytes: [UInt8]) -> SymmetricKey? {
    guard case .rsa(let key) = key,
      let key = try? _RSA.Encryption.PrivateKey(derRepresentation: key.derRepresentation),
      let content = try? key.decrypt(bytes, padding: .PKCS1_OAEP_SHA256)
    else { return nil }
    return SymmetricKey(data: content)
  }

  /// Returns the secret that the daemon shares with the sender of an ephemeral public key (RFC 7518
  /// §4.6.1.1).
  ///
  /// - Returns: Nil if the key is malformed, or not on the curve of this key.
  func sharedSecret(with ephemeral: JSONValue) -> SharedSecret? {
    guard ephemeral["kty"] == "EC", let curve = ephemeral["crv"]?.stringValue,
      let x = ephemeral["x"]?.stringValue.flatMap({ Base64URL.decode($0) }),
      let y = ephemeral["y"]?.stringValue.flatMap({ Base64URL.decode($0) }), x.count == y.count
    else { return nil }
    switch (key, curve) {
    case (.p256(let key), "P-256"):
      let other = try? P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
      return other.flatMap { try? key.sharedSecretFromKeyAgreement(with: $0) }
    case (.p384(let key), "P-384"):
      let other = try? P384.KeyAgreement.PublicKey(rawRepresentation: x + y)
      return other.flatMap { try? key.sharedSecretFromKeyAgreement(with: $0) }
    case (.p256, _), (.p384, _), (.rsa, _): return nil
    }
  }
}
