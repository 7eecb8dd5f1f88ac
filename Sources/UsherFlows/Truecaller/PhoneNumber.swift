package import JSONRPC

/// A phone number with a length that is possible in its country.
package struct PhoneNumber: Codable, Sendable, Hashable {
  /// The country code of the request in upper case (ISO 3166-1 alpha-2). `UK` is not changed to
  /// `GB`.
  package let country: String
  /// The country's calling code without a plus, such as `91`.
  package let callingCode: String
  /// The number within the country, the national (significant) number of E.164; digits only.
  package let national: String

  /// Parses a phone number as users write it.
  ///
  /// Spaces, dashes, dots, brackets and slashes are dropped. A prefix `+` or `00` with the
  /// country's own calling code is removed.
  package init(_ text: String, country: String) throws(InvalidValue) {
    // Non-ASCII letters are excluded, because the upper case of one may be ASCII: `ı` becomes `I`.
    let code = country.utf8.allSatisfy { $0 < 0x80 } ? country.uppercased() : ""
    guard let plan = PhoneNumberingPlan(code) else {
      throw InvalidValue("no country has this code, or the country has no phone numbers")
    }
    guard text.utf8.count <= 64 else { throw InvalidValue("the phone number is too long") }
    let digits = try Self.digits(text, plan)
    guard plan.lengths.contains(digits.count) else {
      throw InvalidValue(
        "a phone number of \(code) has \(plan.lengths.words) digits, this one has \(digits.count)")
    }
    self.country = code
    callingCode = plan.callingCode
    national = digits
  }

  /// The number in ITU-T E.164 format, with its plus.
  package var e164: String { "+\(callingCode)\(national)" }

  /// The number for display. All digits of the national number but the last two or three are
  /// hidden; users recognize a number by its end.
  package var masked: String {
    "+\(callingCode) ••• \(national.suffix(national.count > 5 ? 3 : 2))"
  }

  private static func digits(
    _ text: String, _ plan: PhoneNumberingPlan
  ) throws(InvalidValue) -> String {
    let written = text.filter { !" -.()[]/".contains($0) }
    // A national number may begin with the digits 00 of an international prefix.
    if plan.hasOneLength, written.count == plan.lengths.lowerBound, written.isDigits {
      return written
    }
    var rest = Substring(written)
    if let prefix = ["+", "00"].first(where: written.hasPrefix) {
      rest = rest.dropFirst(prefix.count)
      guard rest.hasPrefix(plan.callingCode) else {
        throw InvalidValue("the phone number is of another country than the one named")
      }
      rest = rest.dropFirst(plan.callingCode.count)
    }
    guard !rest.isEmpty, rest.isDigits else {
      throw InvalidValue("the phone number must have digits 0 to 9 only")
    }
    return String(rest)
  }
}

extension StringProtocol {
  /// Whether every character is one of the ASCII digits.
  fileprivate var isDigits: Bool { utf8.allSatisfy { (0x30...0x39).contains($0) } }
}

extension PhoneNumber {
  /// Returns whether a value that the server sent denotes this number.
  ///
  /// - Parameters:
  ///   - value: A string, or a number as in the vendor's sample, with or without the calling code.
  ///   - country: The country that the server names with the number. It is compared only if the
  ///     calling code is missing.
  package func isMatch(for value: JSONValue, country: String? = nil) -> Bool {
    let text: String
    switch value {
    case .integer(let number): text = String(number)
    case .number(let number):
      guard let whole = Int64(exactly: number) else { return false }
      text = String(whole)
    case .string(let string): text = string
    case .null, .bool, .array, .object: return false
    }
    let written = text.filter { !" -.()[]/".contains($0) }
    if written == e164 || written == "00" + e164.dropFirst() { return true }
    if written == e164.dropFirst() { return true }
    // A JSON number has no leading zeros, so they are dropped for the comparison.
    let plain = value.stringValue == nil ? String(national.drop { $0 == "0" }) : national
    return written == plain && (country.map(isOf) ?? true)
  }

  private func isOf(_ other: String) -> Bool {
    let names = [country, other.uppercased()].map { $0 == "UK" ? "GB" : $0 }
    return names[0] == names[1]
  }
}

extension ClosedRange<Int> {
  fileprivate var words: String {
    lowerBound == upperBound ? "\(lowerBound)" : "\(lowerBound) to \(upperBound)"
  }
}
