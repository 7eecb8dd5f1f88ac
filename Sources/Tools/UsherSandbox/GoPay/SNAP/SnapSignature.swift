import Crypto
import FoundationEssentials

/// The signature of SNAP's calls, but for the first: Base64 of HMAC-SHA512 with the client's secret.
enum SnapSignature {
  /// What is signed.
  ///
  /// - Parameters:
  ///   - path: Of the request, as it stands in its first line, without the query.
  ///   - bodyDigest: Of ``digest(_:)``.
  static func text(
    _ method: String, path: String, accessToken: String, bodyDigest: String, timestamp: String
  ) -> String {
    [method, path, accessToken, bodyDigest, timestamp].joined(separator: ":")
  }

  /// SHA-256 of a body in lower-case hexadecimal, of its minified form whatever came.
  static func digest(_ body: [UInt8]) -> String {
    Hex.text(SHA256.hash(data: minified(body)))
  }

  static func sign(_ text: String, secret: String) -> String {
    let key = SymmetricKey(data: Data(secret.utf8))
    let code = HMAC<SHA512>.authenticationCode(for: Data(text.utf8), using: key)
    return Data(code).base64EncodedString()
  }

  /// Whether a signature is the right one, byte by byte of its Base64.
  static func isValid(_ signature: String, over text: String, secret: String) -> Bool {
    Array(signature.utf8) == Array(sign(text, secret: secret).utf8)
  }

  /// A JSON text without the blanks between its tokens.
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
