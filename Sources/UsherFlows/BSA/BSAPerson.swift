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

  /// Creates a contact from a caller's text.
  ///
  /// - Throws: The end of a sentence, `must be …`, if the text is not a valid e-mail address or
  ///   phone number.
  package init(_ channel: Channel, _ text: String) throws(InvalidValue) {
    self.channel = channel
    switch channel {
    case .email: target = try Self.address(text)
    case .sms: target = try Self.number(text)
    }
  }

  private static func address(_ text: String) throws(InvalidValue) -> String {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    let isText = text.unicodeScalars.allSatisfy {
      !$0.properties.isWhitespace && ![.control, .format].contains($0.properties.generalCategory)
    }
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), isText, text.utf8.count <= 254 else {
      throw InvalidValue("must be an e-mail address")
    }
    return text
  }

  private static func number(_ text: String) throws(InvalidValue) -> String {
    let plain = text.filter { !" -()".contains($0) }
    let digits = plain.hasPrefix("+") ? plain.dropFirst() : plain[...]
    guard (7...15).contains(digits.utf8.count), digits.utf8.allSatisfy(\.isDigit) else {
      throw InvalidValue("must be a phone number of 7 to 15 digits")
    }
    return plain
  }

  /// The contact with most characters hidden: `a•••@e•••`, `•••••••67`.
  var masked: String {
    switch channel {
    case .email: target.split(separator: "@").map { "\($0.prefix(1))•••" }.joined(separator: "@")
    case .sms: target.masked
    }
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

/// Validates the id of a user at BSA, the user key.
package enum BSAUserKey {
  /// Returns the user key if it is valid.
  ///
  /// - Throws: If the text is not 4 to 64 letters, digits and `._-@`. A key of dots alone is
  ///   refused, because it would change the path of a URL.
  package static func checked(_ text: String) throws(InvalidValue) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      byte.isLetter || byte.isDigit || "._-@".utf8.contains(byte)
    }
    guard (4...64).contains(text.utf8.count), isPlain, text.contains(where: { $0 != "." }) else {
      throw InvalidValue("must be 4 to 64 of letters, digits and ._-@, not all of them dots")
    }
    return text
  }
}

enum BSAName {
  static func checked(_ text: String) throws(InvalidValue) -> String {
    // A name of symbols and invisible characters alone is useless to people.
    let isVisible = text.contains { $0.isLetter || $0.isNumber }
    guard isVisible, text.utf8.count <= 256, ProviderText.clean(text, limit: 256) == text else {
      throw InvalidValue(
        "must be a name: at most 256 bytes, with a letter or digit, without control characters")
    }
    return text
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
