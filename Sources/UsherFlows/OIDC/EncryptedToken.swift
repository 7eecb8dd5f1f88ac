import Crypto
import CryptoExtras
import FoundationEssentials
import JSONRPC
package import UsherConfig
package import UsherCore

/// An encrypted token in compact form (JWE, RFC 7516 §3.1): its protected header, the encrypted key
/// of the content, the initialization vector, the content, and the authentication tag.
package struct EncryptedToken {
  /// The maximum length of a token in bytes.
  package static let maxLength = 131_072

  /// The name of what is encrypted, for messages, such as `ID token`.
  private let name: String
  private let header: [String: JSONValue]
  /// The header as it was sent, which the tag protects.
  private let protected: [UInt8]
  private let encryptedKey: [UInt8]
  private let vector: [UInt8]
  private let content: [UInt8]
  private let tag: [UInt8]

  /// Whether a text has the five parts of an encrypted token.
  static func isEncrypted(_ token: Secret) -> Bool {
    token.revealed().utf8.count { $0 == UInt8(ascii: ".") } == 4
  }

  package init(_ token: Secret, of name: String) throws(UnusableReply) {
    guard token.revealed().utf8.count <= Self.maxLength else {
      throw UnusableReply("the encrypted \(name) has more than \(Self.maxLength) bytes")
    }
    let texts = token.revealed().split(separator: ".", omittingEmptySubsequences: false)
    let parts = texts.compactMap { Base64URL.decode($0) }
    guard texts.count == 5, parts.count == 5,
      let header = HTTPReply(status: 200, body: parts[0]).jsonObject
    else { throw UnusableReply("the \(name) is not an encrypted token") }
    self.name = name
    self.header = header
    protected = Array(texts[0].utf8)
    (encryptedKey, vector, content, tag) = (parts[1], parts[2], parts[3], parts[4])
  }

  /// Decrypts the content.
  ///
  /// Only the configured algorithm is used, whatever the header says. Compressed content is
  /// refused, because a short text can expand to one that fills the memory (RFC 8725 §3.6).
  ///
  /// - Throws: A sentence that tells nothing about the content.
  package func decrypted(
    with key: DecryptionKey, by algorithm: KeyManagementAlgorithm
  ) throws(UnusableReply) -> [UInt8] {
    let method = header["alg"]?.stringValue ?? ""
    guard method == algorithm.rawValue else {
      throw UnusableReply(
        "the \(name) is encrypted with alg \(ProviderText.found(header["alg"])): expected "
          + "\(algorithm.rawValue), which is configured; register the client for that")
    }
    guard let encryption = header["enc"]?.stringValue.flatMap(ContentEncryption.init) else {
      let names = ContentEncryption.allCases.map(\.rawValue).joined(separator: ", ")
      throw UnusableReply(
        "the \(name) is encrypted with enc \(ProviderText.found(header["enc"])): expected one of "
          + "\(names); register the client for one of them")
    }
    guard header["zip"] == nil else {
      throw UnusableReply("the \(name) is compressed (zip), which is not accepted")
    }
    guard header["crit"] == nil else {
      throw UnusableReply("the \(name)'s header has crit, which is not understood")
    }
    guard let contentKey = contentKey(key, algorithm, encryption),
      contentKey.bitCount == encryption.keyBits,
      let bytes = encryption.open(
        content, key: contentKey, vector: vector, tag: tag, authenticating: protected)
    else {
      throw UnusableReply(
        "the \(name) cannot be decrypted with the key of decryption_credential: the provider must "
          + "know the key set that usherctl provider jwks prints")
    }
    return bytes
  }

  private func contentKey(
    _ key: DecryptionKey, _ algorithm: KeyManagementAlgorithm, _ encryption: ContentEncryption
  ) -> SymmetricKey? {
    switch algorithm {
    case .rsaOAEP256: key.decryptRSA(encryptedKey)
    case .ecdhES:
      encryptedKey.isEmpty
        ? agreedKey(key, for: encryption.rawValue, bits: encryption.keyBits) : nil
    case .ecdhESA128KW: unwrapped(agreedKey(key, for: algorithm.rawValue, bits: 128))
    case .ecdhESA256KW: unwrapped(agreedKey(key, for: algorithm.rawValue, bits: 256))
    }
  }

  private func unwrapped(_ wrappingKey: SymmetricKey?) -> SymmetricKey? {
    wrappingKey.flatMap { try? AES.KeyWrap.unwrap(encryptedKey, using: $0) }
  }

  /// Derives a key from the agreed secret by the Concat KDF (RFC 7518 §4.6.2). One round of SHA-256
  /// gives enough bits for all algorithms.
  private func agreedKey(_ key: DecryptionKey, for use: String, bits: Int) -> SymmetricKey? {
    guard let secret = key.sharedSecret(with: header["epk"] ?? .null),
      let sender = partyInfo("apu"), let recipient = partyInfo("apv")
    else { return nil }
    var hash = SHA256()
    hash.update(data: UInt32(1).bigEndianBytes)
    secret.withUnsafeBytes { hash.update(bufferPointer: $0) }
    for info in [Array(use.utf8), sender, recipient] {
      hash.update(data: UInt32(info.count).bigEndianBytes + info)
    }
    hash.update(data: UInt32(bits).bigEndianBytes)
    return SymmetricKey(data: Array(hash.finalize().prefix(bits / 8)))
  }

  /// Returns the bytes of `apu` or `apv`, which may be missing; nil if they are malformed.
  private func partyInfo(_ name: String) -> [UInt8]? {
    guard let value = header[name] else { return [] }
    return value.stringValue.flatMap { Base64URL.decode($0) }
  }
}

/// How the content of a token is encrypted (RFC 7518 §5.1).
private enum ContentEncryption: String, CaseIterable {
  case a128GCM = "A128GCM"
  case a256GCM = "A256GCM"
  case a128CBCHS256 = "A128CBC-HS256"

  var keyBits: Int {
    switch self {
    case .a128GCM: 128
    case .a256GCM, .a128CBCHS256: 256
    }
  }

  /// Returns the content; nil if the tag does not match.
  func open(
    _ content: [UInt8], key: SymmetricKey, vector: [UInt8], tag: [UInt8],
    authenticating header: [UInt8]
  ) -> [UInt8]? {
    switch self {
    case .a128GCM, .a256GCM:
      guard vector.count == 12, tag.count == 16, let nonce = try? AES.GCM.Nonce(data: vector),
        let box = try? AES.GCM.SealedBox(nonce: nonce, ciphertext: content, tag: tag),
        let bytes = try? AES.GCM.open(box, using: key, authenticating: header)
      else { return nil }
      return Array(bytes)
    case .a128CBCHS256:
      return Self.openCBC(content, key: key, vector: vector, tag: tag, authenticating: header)
    }
  }

  /// Checks the tag, and decrypts only then (RFC 7518 §5.2.2.2).
  private static func openCBC(
    _ content: [UInt8], key: SymmetricKey, vector: [UInt8], tag: [UInt8],
    authenticating header: [UInt8]
  ) -> [UInt8]? {
    let bytes = key.withUnsafeBytes { Array($0) }
    let length = UInt64(header.count * 8).bigEndianBytes
    let code = HMAC<SHA256>.authenticationCode(
      for: header + vector + content + length, using: SymmetricKey(data: bytes.prefix(16)))
    // Secrets are compared in constant time.
    let expected = Secret(Base64URL.encode(code.prefix(16)))
    guard Secret(Base64URL.encode(tag)) == expected, vector.count == 16,
      let iv = try? AES._CBC.IV(ivBytes: vector),
      let plain = try? AES._CBC.decrypt(
        content, using: SymmetricKey(data: bytes.suffix(16)), iv: iv)
    else { return nil }
    return Array(plain)
  }
}

extension FixedWidthInteger {
  fileprivate var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
