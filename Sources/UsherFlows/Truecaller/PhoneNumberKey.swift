import Crypto
import UsherCore

extension PhoneNumber {
  /// The number of random bytes in a ``flowKey(salt:)``.
  static let saltLength = 16

  /// Returns the key by which a client that knows the number finds a flow again: the calling code,
  /// the salt and a hash, with dots between them; salt and hash in hexadecimal.
  ///
  /// The hash is the HMAC-SHA256, under the salt, of the country, a space and ``e164``. Each flow
  /// has its own salt, so keys do not show that two flows are about the same number, and no
  /// table of hashes computed in advance finds the number.
  func flowKey(salt: [UInt8]) -> String {
    let hash = HMAC<SHA256>.authenticationCode(
      for: Array("\(country) \(e164)".utf8), using: SymmetricKey(data: salt))
    return "\(callingCode).\(salt.hexadecimal).\(hash.hexadecimal)"
  }
}
