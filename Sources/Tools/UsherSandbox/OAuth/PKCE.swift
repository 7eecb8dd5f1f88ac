import Crypto
import FoundationEssentials

/// Proof Key for Code Exchange, method S256 (RFC 7636).
package enum PKCEVerification {
  /// Whether a verifier belongs to a challenge. A verifier without a challenge is wrong, too
  /// (RFC 9700 §2.1.1).
  package static func matches(verifier: String?, challenge: String?) -> Bool {
    guard let verifier, let challenge else { return verifier == nil && challenge == nil }
    return isVerifier(verifier)
      && Base64.url(SHA256.hash(data: Data(verifier.utf8))) == challenge
  }

  /// Returns the challenge of an authorization request; nil if the request does not use PKCE.
  static func optionalChallenge(_ form: Form) throws(OAuthError) -> String? {
    guard let challenge = form["code_challenge"] else { return nil }
    guard form["code_challenge_method"] == "S256", isChallenge(challenge) else {
      throw OAuthError("invalid_request", "code_challenge is not a valid S256 challenge")
    }
    return challenge
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
