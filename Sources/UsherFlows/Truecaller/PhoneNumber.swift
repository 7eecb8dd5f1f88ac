package import JSONRPC

/// A phone number that can be, of a country that is.
package struct PhoneNumber: Codable, Sendable, Hashable {
  /// As it was asked for, in upper case: `UK` stays `UK`.
  package let country: String
  /// Without its plus.
  package let callingCode: String
  /// The national (significant) number: digits.
  package let national: String

  /// Reads what people write: spaces, dashes, dots, brackets and slashes are dropped, and a prefix
  /// `+` or `00` with the country's own calling code is taken away.
  package init(_ text: String, country: String) throws(ImpossibleNumber) {
    // Beyond ASCII another letter's upper case may be one of these: `ı` becomes `I`.
    let code = country.utf8.allSatisfy { $0 < 0x80 } ? country.uppercased() : ""
    guard let plan = PhonePlan(code) else {
      throw ImpossibleNumber("there is no country with this code, or it has no phone numbers")
    }
    guard text.utf8.count <= 64 else { throw ImpossibleNumber("the phone number is too long") }
    let digits = try Self.digits(text, callingCode: plan.callingCode)
    guard plan.lengths.contains(digits.count) else {
      throw ImpossibleNumber(
        "a phone number of \(code) has \(plan.lengths.words) digits, this one has \(digits.count)")
    }
    guard let first = digits.first, plan.firstDigits.contains(first) else {
      throw ImpossibleNumber(
        digits.first == "0"
          ? "a phone number of \(code) is written without the 0 in front"
          : "there is no phone number of \(code) that begins so")
    }
    self.country = code
    callingCode = plan.callingCode
    national = digits
  }

  /// ITU-T E.164, with its plus.
  package var e164: String { "+\(callingCode)\(national)" }

  /// For people, who know their number by its end: all but two or three digits are hidden.
  package var masked: String {
    "+\(callingCode) ••• \(national.suffix(national.count > 5 ? 3 : 2))"
  }

  private static func digits(
    _ text: String, callingCode: String
  ) throws(ImpossibleNumber) -> String {
    let written = text.filter { !" -.()[]/".contains($0) }
    var rest = Substring(written)
    if let prefix = ["+", "00"].first(where: written.hasPrefix) {
      rest = rest.dropFirst(prefix.count)
      guard rest.hasPrefix(callingCode) else {
        throw ImpossibleNumber("the phone number is of another country than the one named")
      }
      rest = rest.dropFirst(callingCode.count)
    }
    guard !rest.isEmpty, rest.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw ImpossibleNumber("the phone number must have digits 0 to 9 only")
    }
    return String(rest)
  }
}

/// Why there is no such phone number; a sentence without the number.
package struct ImpossibleNumber: Error, Equatable {
  package let message: String

  init(_ message: String) { self.message = message }
}

extension PhoneNumber {
  /// Whether a server means this number by what it says.
  ///
  /// - Parameters:
  ///   - value: A string or, as the vendor's sample prints it, a number; with the calling code or
  ///     without it.
  ///   - country: What the server says beside it. It counts where the calling code is missing.
  package func isMeant(by value: JSONValue, country: String? = nil) -> Bool {
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
    // A JSON number has no 0 in front.
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
