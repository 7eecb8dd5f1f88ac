import Crypto
import FoundationEssentials

/// The signature of SNAP requests after the first: HMAC-SHA512 by client secret, as Base64.
enum SnapSignature {
  /// Returns the text to sign.
  ///
  /// - Parameters:
  ///   - path: The path as in the request line, without the query.
  ///   - bodyDigest: The result of ``digest(_:)``.
  static func text(
    _ method: String, path: String, accessToken: String, bodyDigest: String, timestamp: String
  ) -> String {
    [method, path, accessToken, bodyDigest, timestamp].joined(separator: ":")
  }

  /// Returns the SHA-256 of the minified body in lower-case hexadecimal.
  static func digest(_ body: [UInt8]) -> String {
    Hex.text(SHA256.hash(data: minified(body)))
  }

  static func sign(_ text: String, secret: String) -> String {
    let key = SymmetricKey(data: Data(secret.utf8))
    let code = HMAC<SHA512>.authenticationCode(for: Data(text.utf8), using: key)
    return Data(code).base64EncodedString()
  }

  /// Whether the signature equals the expected Base64 text exactly.
  static func isValid(_ signature: String, over text: String, secret: String) -> Bool {
    Array(signature.utf8) == Array(sign(text, secret: secret).utf8)
  }

  /// Returns a JSON text without whitespace between its tokens.
  static func minified(_ body: [UInt8]) -> [UInt8] {
    var isInString = false
    var isEscaped = false
    return body.filter { byte in
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        return true
      }
      if byte == UInt8(ascii: "\"") { isInString = true }
      return ![0x20, 0x09, 0x0A, 0x0D].contains(byte)
    }
  }
}
