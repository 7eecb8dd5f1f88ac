import Crypto
import UsherCore

/// An e-mail address or phone number of a user, in the form that is sent to BSA.
package struct BSAContact: Codable, Sendable, Equatable {
  package enum Channel: String, Codable, Sendable, CaseIterable {
    case email
    case sms
  }

  package let channel: Channel
  /// An e-mail address, or a phone number of digits with an optional leading `+`.
  package let target: String

  /// Creates a contact from a caller's text. BSA decides whether the contact is one.
  ///
  /// - Throws: The end of a sentence, `must be …`, if the text cannot be sent.
  package init(_ channel: Channel, _ text: String) throws(InvalidValue) {
    self.channel = channel
    // BSA knows each number in one spelling, so what only separates its digits is removed.
    let plain = channel == .sms ? text.filter { !" -()".contains($0) } : text
    guard BSAText.canBeSent(plain) else {
      throw InvalidValue(channel == .sms ? "must be a phone number" : "must be an e-mail address")
    }
    target = plain
  }

  /// The contact with most characters hidden: `a•••@e•••`, `•••••••67`.
  var masked: String {
    let parts = target.split(separator: "@")
    guard channel == .sms || parts.count < 2 else {
      return parts.map { "\($0.prefix(1))•••" }.joined(separator: "@")
    }
    guard target.count > 4 else { return "•••" }
    let sign = target.hasPrefix("+") ? "+" : ""
    let hidden = target.count - sign.count - 2
    return sign + String(repeating: "•", count: hidden) + target.suffix(2)
  }

  /// The purpose under which the result of a contact verification is stored, so that a registration
  /// finds it: SHA-256, in hexadecimal, of `email:` or `sms:` and the target.
  package var key: String {
    SHA256.hash(data: Array("\(channel.rawValue):\(target)".utf8)).hexadecimal
  }

  /// BSA's name for the kind of contact (provider contract §5.3).
  var verifyType: String {
    switch channel {
    case .email: "CMMDUP001"
    case .sms: "CMMDUP002"
    }
  }
}

/// Validates the id of a user at BSA, the user key. BSA decides which keys it accepts.
package enum BSAUserKey {
  /// Returns the user key if it can be sent.
  ///
  /// - Throws: If the text cannot be sent. `.` and `..` are segments with a meaning in the path of
  ///   a URL (RFC 3986 §3.3), and the user key is a segment of one.
  package static func checked(_ text: String) throws(InvalidValue) -> String {
    guard text != ".", text != ".." else { throw InvalidValue("must be another text than dots") }
    return try BSAText.checked(text)
  }
}

/// Validates text that is sent to BSA unchanged.
enum BSAText {
  /// The maximum length in bytes of an id, a name or a contact.
  static let limit = 512

  /// Returns the text if it can be sent.
  ///
  /// - Throws: If the text is blank, has control characters or is longer than the limit in bytes.
  static func checked(
    _ text: String, limit: Int = BSAText.limit
  ) throws(InvalidValue) -> String {
    guard canBeSent(text, limit: limit) else {
      throw InvalidValue("must be 1 to \(limit) bytes of text without control characters")
    }
    return text
  }

  static func canBeSent(_ text: String, limit: Int = BSAText.limit) -> Bool {
    let isBlank = text.allSatisfy(\.isWhitespace)
    // Blanks at the ends do no harm, but cleaning removes them unless other text surrounds them.
    let isClean = ProviderText.clean("|\(text)|", limit: .max) == "|\(text)|"
    return !isBlank && isClean && text.utf8.count <= limit
  }
}

/// The authentication method that a device is registered with (SDK documentation,
/// `BSA.Enums.LocalAuthType`).
package enum BSAAuthType: String, Codable, Sendable, CaseIterable {
  case none
  case biometric
  case passcode

  /// BSA's number for the method (provider contract §5.4). BSA has no number for `none`; 0 is the
  /// daemon's own.
  var number: Int64 {
    switch self {
    case .none: 0
    case .biometric: 3
    case .passcode: 4
    }
  }

  init?(number: Int64) {
    guard let type = Self.allCases.first(where: { $0.number == number }) else { return nil }
    self = type
  }

  /// The type's name in the BSA SDK, as `loadLocalAuthType()` returns it.
  var sdkName: String { rawValue.uppercased() }

  init?(sdkName: String) {
    guard let type = Self.allCases.first(where: { $0.sdkName == sdkName }) else { return nil }
    self = type
  }

  /// The method of local authentication with the same name; nil for `none`.
  var localAuthType: LocalAuthType? { LocalAuthType(rawValue: rawValue) }
}

enum BSADevice {
  /// Returns the id of this machine's device at BSA: a UUID (version 8, RFC 9562 §5.8) derived from
  /// the owner's installation and the user key, so that two users never share a device at BSA.
  static func id(_ userKey: String, at installation: String) -> String {
    Array(SHA256.hash(data: Array("\(installation) \(userKey)".utf8)).prefix(16))
      .uuid(version: 8)
  }
}
