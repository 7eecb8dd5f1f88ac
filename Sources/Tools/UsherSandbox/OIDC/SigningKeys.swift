import Crypto
import CryptoExtras
import FoundationEssentials
import JWTKit

/// The keys that sign ID tokens: one RSA and one P-256 key, and those of earlier rotations.
package struct SigningKeys: Sendable {
  struct RSAKey: Sendable {
    let kid: String
    private let number: Int

    fileprivate init(_ number: Int) {
      kid = "rsa-\(number)"
      self.number = number
    }

    /// Returns the key. Blocks if it must generate the key; see ``RSAKeys``.
    func key() throws -> _RSA.Signing.PrivateKey { try RSAKeys.key(number) }
  }

  struct ECKey: Sendable {
    let kid: String
    let key: P256.Signing.PrivateKey
  }

  /// The largest number of key pairs of each type in the key set.
  package static let limit = 8

  private(set) var rsa: [RSAKey]
  private(set) var ec: [ECKey]
  private var made = 1

  package init() {
    rsa = [RSAKey(1)]
    ec = [Self.makeEC(1)]
  }

  /// Adds new keys and signs with them. The old keys stay in the key set unless `removingOld`.
  package mutating func rotate(removingOld: Bool) {
    made += 1
    let kept = removingOld ? 0 : Self.limit - 1
    rsa = Array(rsa.suffix(kept)) + [RSAKey(made)]
    ec = Array(ec.suffix(kept)) + [Self.makeEC(made)]
  }

  /// The key set (RFC 7517 §5), with public keys only.
  ///
  /// - Parameter rsaAlgorithm: The algorithm that the RSA keys are for.
  package func keySet(rsaAlgorithm: String = "RS256") throws -> JSON {
    let rsaKeys = try rsa.map { pair in
      let numbers = try pair.key().publicKey.getKeyPrimitives()
      return JSON.object([
        "kty": "RSA", "use": "sig", "alg": .string(rsaAlgorithm), "kid": .string(pair.kid),
        "n": .string(Base64.url(numbers.modulus)),
        "e": .string(Base64.url(numbers.publicExponent)),
      ])
    }
    let ecKeys = ec.map { pair in
      let point = pair.key.publicKey.rawRepresentation
      return JSON.object([
        "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": .string(pair.kid),
        "x": .string(Base64.url(point.prefix(32))), "y": .string(Base64.url(point.suffix(32))),
      ])
    }
    return ["keys": .array(rsaKeys + ecKeys)]
  }

  private static func makeEC(_ number: Int) -> ECKey {
    ECKey(kid: "ec-\(number)", key: P256.Signing.PrivateKey())
  }
}
