package import UsherCore

/// A user's name, checked by the SDK's rules (seed; contract §1.6).
package struct TruecallerName: Codable, Sendable, Equatable {
  package let first: Sealed<Secret>
  /// Empty if the user has no last name.
  package let last: Sealed<Secret>

  /// The seed's "less than 128 characters", which the SDK counts in UTF-16.
  static let maxLength = 127

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
  /// Whether the scalar is in Unicode's category L, so not a digit, mark or emoji.
  fileprivate var isLetter: Bool {
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
    default: false
    }
  }
}
