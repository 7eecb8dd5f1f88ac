/// A text and its signature by one of the provider's keys: RSA with PKCS #1 v1.5 padding (RFC 8017
/// §8.2) and SHA-512.
package struct SignedText: Codable, Sendable, Equatable {
  /// The signed text; the signature covers its UTF-8 bytes.
  package let text: String
  package let signature: [UInt8]

  package init(text: String, signature: [UInt8]) {
    self.text = text
    self.signature = signature
  }
}
