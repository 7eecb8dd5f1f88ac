/// A text and its signature by one of the provider's keys: RSA with PKCS #1 v1.5 padding (RFC 8017
/// §8.2) and SHA-512.
package struct SignedText: Codable, Sendable, Equatable {
  /// The signed text; the signature covers its UTF-8 bytes.
  package let text: String
  package let signature: [UInt8]
}

/// Where the key comes from with which a provider signs texts.
package struct SignatureKeySource: Sendable {
  /// The URL of the signature keys, which tells one source from another.
  package var url: String
  /// The provider call that fetches the signature keys.
  package var call: any ProviderCall
  /// Reads the signature key out of the reply to ``call``.
  package var read: @Sendable (CallOutcome) -> SignatureKey
}

/// What a provider answers when it is asked for the key with which it signs texts.
package enum SignatureKey: Sendable, Equatable {
  /// The DER of a SubjectPublicKeyInfo (RFC 5280 §4.1), unchecked.
  case key([UInt8])
  /// The key could not be had now; the server's reply, if there was one.
  case unreachable(String, HTTPReply? = nil)
  /// The server answered something that names no key.
  case unusable(String)
}
