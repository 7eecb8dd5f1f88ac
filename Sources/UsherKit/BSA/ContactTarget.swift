import Crypto
import UsherCore

/// The contact to which an OTP number is sent.
struct ContactTarget: Sendable, Equatable {
  let type: BSA.APICaller.OTPSendType
  /// The e-mail address or phone number as the caller passed it.
  let target: String

  /// The key by which the daemon finds the contact's flow: the SHA-256, in hexadecimal, of `email:`
  /// or `sms:` followed by the target. A phone number is hashed without spaces, hyphens and
  /// parentheses (page BSA in Usher.docc, `verifyContact`).
  var key: String { SHA256.hash(data: Array("\(type.rawValue):\(plain)".utf8)).hexadecimal }

  private var plain: String {
    switch type {
    case .Email: target
    case .SMS: target.filter { !" -()".contains($0) }
    }
  }

  /// The e-mail address or phone number, masked for the log.
  var masked: String { Self.masked(target) }

  /// Returns an e-mail address as `a•••@e•••`, another text as its last two characters, and a text
  /// of up to four characters without any.
  static func masked(_ text: String) -> String {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    if parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty {
      return parts.map { "\($0.prefix(1))•••" }.joined(separator: "@")
    }
    return text.count > 4 ? "•••\(text.suffix(2))" : "•••"
  }
}
