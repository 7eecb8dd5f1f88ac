/// A text and its signature by one of the provider's keys: RSA with PKCS #1 v1.5 padding (RFC 8017
/// §8.2) and SHA-512.
package struct SignedText: Codable, Sendable, Equatable {
  /// The signed text; the signature covers its UTF-8 bytes.
  package let text: String
  package let signature: [UInt8]
}

/// The source of the public key with which the signatures of a provider are verified.
package struct SignatureKeySource: Sendable {
  /// The URL from which the key is fetched; the cache of keys uses it as its index.
  package var url: String
  /// The provider call that fetches the key with which the signature is verified.
  package var call: any ProviderCall
  /// Reads the key from the outcome of ``call``.
  package var read: @Sendable (CallOutcome) -> SignatureKey
}

/// The result of fetching the public key that verifies a provider's signatures.
package enum SignatureKey: Sendable, Equatable {
  /// The key: the DER of a SubjectPublicKeyInfo (RFC 5280 §4.1), not checked yet.
  case key([UInt8])
  /// The key could not be fetched now. The values are a sentence and the server's reply, if one
  /// arrived.
  case unreachable(String, HTTPReply? = nil)
  /// The reply contains no usable key. The value is a sentence.
  case unusable(String)
}
