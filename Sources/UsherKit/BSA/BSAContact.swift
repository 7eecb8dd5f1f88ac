import Crypto

/// Where a number is sent.
struct BSAContact: Sendable, Equatable {
  let type: BSA.APICaller.OTPSendType
  /// As the caller wrote it.
  let target: String

  /// What the daemon finds its flow by: a SHA-256 in hexadecimal of `email:` or `sms:` and the target,
  /// of a phone number without its blanks, hyphens and brackets (the daemon's page BSA,
  /// `verifyContact`).
  var key: String {
    SHA256.hash(data: Array("\(type.rawValue):\(plain)".utf8)).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }

  private var plain: String {
    switch type {
    case .Email: target
    case .SMS: target.filter { !" -()".contains($0) }
    }
  }

  /// For the log.
  var masked: String { Self.masked(target) }

  /// An address as `a•••@e•••`, anything else as its last two characters.
  static func masked(_ text: String) -> String {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    if parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty {
      return parts.map { "\($0.prefix(1))•••" }.joined(separator: "@")
    }
    return text.count > 4 ? "•••\(text.suffix(2))" : "•••"
  }
}
