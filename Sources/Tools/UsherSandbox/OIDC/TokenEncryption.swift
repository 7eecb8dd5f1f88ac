import Crypto
import CryptoExtras
import FoundationEssentials

/// How a token is encrypted (RFC 7516), correctly or not.
package struct TokenEncryption: Sendable, Hashable, Codable {
  package enum Algorithm: String, Sendable, Codable {
    case rsaOAEP256 = "RSA-OAEP-256"
    case ecdhES = "ECDH-ES"
    case ecdhESA128KW = "ECDH-ES+A128KW"
    case ecdhESA256KW = "ECDH-ES+A256KW"
  }

  package enum Content: String, Sendable, Codable {
    case a128GCM = "A128GCM"
    case a256GCM = "A256GCM"
    case a128CBCHS256 = "A128CBC-HS256"

    var keyBytes: Int { self == .a128GCM ? 16 : 32 }
  }

  package var alg: Algorithm
  /// Default: `A128GCM`.
  package var enc: Content?
  /// Overrides for the header, such as `zip`. They do not affect the encryption.
  package var header: [String: JSON]?
  /// Whether the claims are encrypted without being signed.
  package var unsigned: Bool?
  /// Whether the tag is wrong.
  package var badTag: Bool?

  /// Encrypts a text for the key of a key set whose `use` is `enc`.
  func encrypted(_ text: String, for keySet: JSON?) throws -> String {
    guard let key = Self.key(in: keySet) else {
      throw OAuthError("server_error", "the client has no key with use enc", status: 500)
    }
    var header: [String: JSON] = ["alg": .string(alg.rawValue), "cty": "JWT"]
    let method = enc ?? .a128GCM
    header["enc"] = .string(method.rawValue)
    header["kid"] = key["kid"]
    let (contentKey, encryptedKey) = try contentKey(for: key, method, &header)
    let protected = Base64.url(
      JSON.object(header.applying(overrides: self.header ?? [:])).encoded())
    var parts = try method.seal(Array(text.utf8), contentKey, Array(protected.utf8))
    if badTag == true { parts.tag[0] ^= 1 }
    return [
      protected, Base64.url(encryptedKey), Base64.url(parts.vector), Base64.url(parts.content),
      Base64.url(parts.tag),
    ].joined(separator: ".")
  }

  private static func key(in keySet: JSON?) -> JSON? {
    guard case .array(let keys)? = keySet?["keys"] else { return nil }
    return keys.first { $0["use"] == "enc" }
  }

  /// Returns the key of the content, and what the recipient needs to find it (RFC 7518 §4).
  private func contentKey(
    for key: JSON, _ method: Content, _ header: inout [String: JSON]
  ) throws -> (SymmetricKey, encrypted: [UInt8]) {
    let random = SymmetricKey(size: SymmetricKeySize(bitCount: method.keyBytes * 8))
    switch alg {
    case .rsaOAEP256:
      let key = try _RSA.Encryption.PublicKey(n: key.bytes("n"), e: key.bytes("e"))
      let bytes = random.withUnsafeBytes { Array($0) }
      return (random, Array(try key.encrypt(bytes, padding: .PKCS1_OAEP_SHA256)))
    case .ecdhES:
      return (try agreedKey(with: key, for: method.rawValue, method.keyBytes, &header), [])
    case .ecdhESA128KW:
      let wrapping = try agreedKey(with: key, for: alg.rawValue, 16, &header)
      return (random, Array(try AES.KeyWrap.wrap(random, using: wrapping)))
    case .ecdhESA256KW:
      let wrapping = try agreedKey(with: key, for: alg.rawValue, 32, &header)
      return (random, Array(try AES.KeyWrap.wrap(random, using: wrapping)))
    }
  }

  /// Agrees on a key with the owner of a key on P-256 (RFC 7518 §4.6).
  private func agreedKey(
    with key: JSON, for use: String, _ count: Int, _ header: inout [String: JSON]
  ) throws -> SymmetricKey {
    let ephemeral = P256.KeyAgreement.PrivateKey()
    let other = try P256.KeyAgreement.PublicKey(rawRepresentation: key.bytes("x") + key.bytes("y"))
    let secret = try ephemeral.sharedSecretFromKeyAgreement(with: other)
    let point = ephemeral.publicKey.rawRepresentation
    header["epk"] = [
      "kty": "EC", "crv": "P-256", "x": .string(Base64.url(point.prefix(32))),
      "y": .string(Base64.url(point.suffix(32))),
    ]
    func number(_ value: Int) -> [UInt8] { [0, 0, UInt8(value >> 8), UInt8(value & 0xFF)] }
    let info = number(use.utf8.count) + Array(use.utf8) + number(0) + number(0) + number(count * 8)
    let shared = secret.withUnsafeBytes { Array($0) }
    return SymmetricKey(
      data: SHA256.hash(data: number(1) + shared + info).prefix(count).map(\.self))
  }
}

extension TokenEncryption.Content {
  fileprivate func seal(
    _ text: [UInt8], _ key: SymmetricKey, _ protected: [UInt8]
  ) throws -> (vector: [UInt8], content: [UInt8], tag: [UInt8]) {
    switch self {
    case .a128GCM, .a256GCM:
      let box = try AES.GCM.seal(text, using: key, authenticating: protected)
      return (Array(box.nonce), Array(box.ciphertext), Array(box.tag))
    case .a128CBCHS256:
      let bytes = key.withUnsafeBytes { Array($0) }
      let iv = AES._CBC.IV()
      let content = Array(
        try AES._CBC.encrypt(text, using: SymmetricKey(data: bytes.suffix(16)), iv: iv))
      let bits = UInt64(protected.count * 8)
      let length = (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) }
      let code = HMAC<SHA256>.authenticationCode(
        for: protected + Array(iv) + content + length,
        using: SymmetricKey(data: bytes.prefix(16)))
      return (Array(iv), content, Array(code.prefix(16)))
    }
  }
}

extension JSON {
  /// The bytes of a member of a JWK.
  fileprivate func bytes(_ name: String) throws -> [UInt8] {
    let text = (self[name]?.text ?? "").map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
    guard let bytes = Base64.decoded(String(text) + padding), !bytes.isEmpty else {
      throw OAuthError("server_error", "the client's key has no \(name)", status: 500)
    }
    return bytes
  }
}
