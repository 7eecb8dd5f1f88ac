import Crypto
import FoundationEssentials

/// Proof Key for Code Exchange, method S256 (RFC 7636).
package enum PKCEVerification {
  package static func matches(verifier: String, challenge: String) -> Bool {
    isVerifier(verifier) && Base64.url(SHA256.hash(data: Data(verifier.utf8))) == challenge
  }

  /// Whether the text has 43 to 128 unreserved characters (RFC 7636 §4.1).
  package static func isVerifier(_ text: String) -> Bool {
    (43...128).contains(text.utf8.count) && text == PercentEncoding.encoded(text)
  }

  /// Whether the text can be a SHA-256 hash in base64url, which has 43 characters (RFC 7636 §4.2).
  package static func isChallenge(_ text: String) -> Bool {
    text.utf8.count == 43 && isVerifier(text)
  }
}
