import Crypto
import CryptoExtras
import FoundationEssentials
package import JSONRPC
package import UsherCore

/// A private key with which the daemon signs as a client of a provider.
package struct ClientKey: Sendable {
  /// The minimum size of an RSA key in bits; a shorter key is invalid (RFC 7518 §3.3).
  package static let minRSABits = 2048

  private enum Key: Sendable {
    case p256(P256.Signing.PrivateKey)
    case p384(P384.Signing.PrivateKey)
    case ed25519(Curve25519.Signing.PrivateKey)
    case rsa(_RSA.Signing.PrivateKey)
  }

  private let key: Key

  /// Reads a key in PEM: an EC key on P-256 or P-384, an Ed25519 key, or an RSA key, as PKCS #8, or
  /// in the older form of an EC or RSA key.
  ///
  /// - Returns: Nil if the text is none of these.
  package init?(pem: Secret) {
    let text = pem.revealed()
    if let key = try? P256.Signing.PrivateKey(pemRepresentation: text) {
      self.key = .p256(key)
    } else if let key = try? P384.Signing.PrivateKey(pemRepresentation: text) {
      self.key = .p384(key)
    } else if let key = try? Curve25519.Signing.PrivateKey(pemRepresentation: text) {
      self.key = .ed25519(key)
    } else if let key = try? _RSA.Signing.PrivateKey(pemRepresentation: text),
      key.keySizeInBits >= Self.minRSABits
    {
      self.key = .rsa(key)
    } else {
      return nil
    }
  }

  /// Returns a new key on P-256 in PEM.
  ///
  /// - Parameter random: Returns as many random bytes as it is asked for.
  package static func make(_ random: (Int) -> [UInt8]) -> Secret {
    while true {
      // Fewer than one in 2^32 random numbers is no key.
      if let key = try? P256.Signing.PrivateKey(rawRepresentation: random(32)) {
        return Secret(key.pemRepresentation)
      }
    }
  }

  /// The end of a sentence about a credential that is no usable key, which begins with its name.
  package static let flaw =
    "is not a PEM text with an EC key (P-256 or P-384), an Ed25519 key, or an RSA key of "
    + "\(minRSABits) bits or more"

  /// Whether a credential is meant to be a private key and not a client secret.
  package static func isPEM(_ credential: Secret) -> Bool {
    credential.revealed().contains("-----BEGIN ")
  }

  /// Returns the algorithm with which the key signs.
  ///
  /// - Parameter accepted: The algorithms that the provider accepts; nil if it does not list them.
  func algorithm(accepted: [String]?) -> String {
    switch key {
    case .p256: "ES256"
    case .p384: "ES384"
    case .ed25519: "EdDSA"
    // RFC 9700 and FAPI 2.0 recommend PS256. Without a list, RS256 is what every provider knows.
    case .rsa: accepted?.contains("PS256") == true ? "PS256" : "RS256"
    }
  }

  /// Returns the signature over a text in the form of RFC 7518 §3.
  ///
  /// - Returns: Nil if the key cannot sign.
  func sign(_ bytes: [UInt8], by algorithm: String) -> [UInt8]? {
    switch key {
    case .p256(let key): (try? key.signature(for: bytes)).map { Array($0.rawRepresentation) }
    case .p384(let key): (try? key.signature(for: bytes)).map { Array($0.rawRepresentation) }
    case .ed25519(let key): (try? key.signature(for: bytes)).map { Array($0) }
    case .rsa(let key):
      (try? key.signature(
        for: SHA256.hash(data: bytes),
        padding: algorithm == "PS256" ? .PSS : .insecurePKCS1v1_5)).map {
          Array($0.rawRepresentation)
        }
    }
  }

  /// Returns a JWT in compact form that the key has signed (RFC 7515 §7.1).
  ///
  /// - Parameters:
  ///   - type: The header `typ`.
  ///   - accepted: The algorithms that the provider accepts; nil if it does not list them.
  ///   - name: The id under which the provider knows the key; nil: ``keyID``.
  /// - Returns: Nil if the key cannot sign.
  func token(
    type: String, _ claims: [String: JSONValue], accepted: [String]?, named name: String? = nil
  ) -> Secret? {
    let algorithm = algorithm(accepted: accepted)
    let text = JSONWebToken.signingInput(
      ["alg": .string(algorithm), "kid": .string(name ?? keyID), "typ": .string(type)], claims)
    return sign(Array(text.utf8), by: algorithm).map {
      Secret(text + "." + Base64URL.encode($0))
    }
  }

  /// The public key as a JWK (RFC 7517) with `use`, `kid` and, for EC keys, `alg`.
  package var publicJWK: JSONValue {
    var members = required
    members["kid"] = .string(keyID)
    members["use"] = "sig"
    switch key {
    case .rsa: break
    case .p256, .p384, .ed25519: members["alg"] = .string(algorithm(accepted: nil))
    }
    return .object(members)
  }

  /// The thumbprint of the public key (RFC 7638).
  package var keyID: String { JSONWebKey.thumbprint(of: required) }

  /// The members that make up the public key.
  var required: [String: JSONValue] {
    switch key {
    case .p256(let key): JSONWebKey.elliptic("P-256", key.publicKey.rawRepresentation)
    case .p384(let key): JSONWebKey.elliptic("P-384", key.publicKey.rawRepresentation)
    case .ed25519(let key):
      [
        "kty": "OKP", "crv": "Ed25519",
        "x": .string(Base64URL.encode(key.publicKey.rawRepresentation)),
      ]
    case .rsa(let key): JSONWebKey.rsa(key.publicKey)
    }
  }
}
