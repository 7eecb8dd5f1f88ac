import Crypto
import CryptoExtras
import FoundationEssentials
import UsherCore

/// Computes the signatures of requests to SNAP, Indonesia's standard for open payment APIs
/// (provider contract §3.4).
enum SNAPSignature {
  /// Returns the value of the header `X-TIMESTAMP`: ISO 8601 in Jakarta time, with its offset.
  static func timestamp(_ now: Timestamp) -> String {
    let jakarta = now + .seconds(7 * 3600)
    return "\(jakarta.description.prefix(19))+07:00"
  }

  /// Returns the signature of the request for a client token: SHA256withRSA over
  /// `clientKey|timestamp`, in Base64.
  ///
  /// - Throws: A sentence that describes the error in the key, without any part of the key.
  static func asymmetric(
    clientKey: String, timestamp: String, privateKey: Secret
  ) throws(UnusableKey) -> String {
    let key = try SNAPPrivateKey(privateKey)
    return try key.sign(Array("\(clientKey)|\(timestamp)".utf8))
  }

  /// Returns the signature of any request other than that for a client token: HMAC-SHA512, in
  /// Base64.
  ///
  /// - Parameters:
  ///   - path: The path as in the request line, without a query.
  ///   - body: The body exactly as it is sent, minified.
  static func symmetric(
    method: String, path: String, accessToken: Secret, body: Secret, timestamp: String,
    clientSecret: Secret
  ) -> String {
    let digest = SHA256.hash(data: Array(body.revealed().utf8)).hexadecimal
    let text = "\(method):\(path):\(accessToken.revealed()):\(digest):\(timestamp)"
    return code(of: text, clientSecret: clientSecret)
  }

  /// Returns the HMAC-SHA512 of the text that the parts of a request were joined to, in Base64.
  static func code(of text: String, clientSecret: Secret) -> String {
    let key = SymmetricKey(data: Array(clientSecret.revealed().utf8))
    let code = HMAC<SHA512>.authenticationCode(for: Array(text.utf8), using: key)
    return Data(code).base64EncodedString()
  }
}

/// The partner's RSA key, with which the request for a client token is signed.
struct SNAPPrivateKey {
  /// The minimum key size in bits; a shorter key is invalid.
  static let minKeyBits = 2048

  private let key: _RSA.Signing.PrivateKey

  /// Reads the key.
  ///
  /// - Parameter pem: The key in PEM, as PKCS #8 or PKCS #1.
  init(_ pem: Secret) throws(UnusableKey) {
    guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem.revealed()),
      key.keySizeInBits >= Self.minKeyBits
    else { throw UnusableKey() }
    self.key = key
  }

  func sign(_ bytes: [UInt8]) throws(UnusableKey) -> String {
    guard let signature = try? key.signature(for: bytes, padding: .insecurePKCS1v1_5) else {
      throw UnusableKey()
    }
    return signature.rawRepresentation.base64EncodedString()
  }
}

/// The error that a credential is not a usable RSA key.
struct UnusableKey: Error, Equatable {
  /// The end of a sentence that begins with the credential's name.
  static let sentence = "is not a PEM text with an RSA key of 2048 bits or more"
}
