package import UsherCore

/// A user's name, checked by the SDK's rules (SDK documentation; provider contract §1.6).
package struct TruecallerName: Codable, Sendable, Equatable {
  package let first: Sealed<Secret>
  /// The last name; empty if the user has none.
  package let last: Sealed<Secret>

  /// The maximum length in UTF-16 code units, as the SDK counts: "less than 128 characters".
  static let maxLength = 127

  /// Reads the name from the fields of a form.
  ///
  /// - Parameter fields: `firstName`, and `lastName`, which may be empty but not missing.
  init(_ fields: [String: Secret]) throws(InvalidValue) {
    guard let first = fields["firstName"], !first.isEmpty else {
      throw InvalidValue("the first name is missing")
    }
    guard let last = fields["lastName"] else {
      throw InvalidValue("the last name is missing; it may be empty")
    }
    try Self.check(first.revealed(), "the first name")
    if !last.isEmpty { try Self.check(last.revealed(), "the last name") }
    self.first = Sealed(first)
    self.last = Sealed(last)
  }

  private static func check(_ text: String, _ what: String) throws(InvalidValue) {
    guard text.utf16.count <= maxLength else {
      throw InvalidValue("\(what) has more than \(maxLength) characters")
    }
    guard text.unicodeScalars.contains(where: \.isLetter) else {
      throw InvalidValue("\(what) has no letter")
    }
    guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw InvalidValue("\(what) has control characters")
    }
  }
}

extension Unicode.Scalar {
  /// Whether the scalar is in Unicode's general category L. Digits, marks and emoji are not.
  fileprivate var isLetter: Bool {
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
    default: false
    }
  }
}
