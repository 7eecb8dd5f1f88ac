import Crypto
import CryptoExtras
import FoundationEssentials
import JSONRPC

/// The public members of a key as a JWK (RFC 7517, RFC 7518 §6).
enum JSONWebKey {
  /// - Parameter point: Both coordinates, one after the other.
  static func elliptic(_ curve: String, _ point: some Collection<UInt8>) -> [String: JSONValue] {
    let point = Array(point)
    return [
      "kty": "EC", "crv": .string(curve),
      "x": .string(Base64URL.encode(point.prefix(point.count / 2))),
      "y": .string(Base64URL.encode(point.suffix(point.count / 2))),
    ]
  }

  static func rsa(_ key: _RSA.Signing.PublicKey) -> [String: JSONValue] {
    (try? key.getKeyPrimitives()).map { primitives in
      [
        "kty": "RSA", "n": .string(Base64URL.encode(primitives.modulus)),
        "e": .string(Base64URL.encode(primitives.publicExponent)),
      ]
    } ?? [:]
  }

  /// Returns the thumbprint of a key that has no other members than its type requires (RFC 7638).
  static func thumbprint(of members: [String: JSONValue]) -> String {
    Base64URL.encode(SHA256.hash(data: JSONValue.object(members).encoded()))
  }
}
