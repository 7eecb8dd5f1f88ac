/// The time at which a token expires, as usherd writes it: RFC 3339 in UTC, to the second or
/// millisecond.
package struct ExpiryTime: Sendable, Equatable {
  /// The time as usherd wrote it.
  package let text: String
  /// The seconds since 1970-01-01T00:00:00Z, rounded down.
  package let seconds: Int64

  /// Reads a time; nil for any other form, and for a date that does not exist.
  package init?(_ text: String) {
    var digits = Digits(text)
    guard let year = digits.number(4, then: "-"), let month = digits.number(2, then: "-"),
      let day = digits.number(2, then: "T"), let hour = digits.number(2, then: ":"),
      let minute = digits.number(2, then: ":"), let second = digits.number(2),
      digits.fraction(), digits.rest == [UInt8(ascii: "Z")],
      year >= 1970, 1...12 ~= month, hour < 24, minute < 60, second < 60,
      1...Self.days(in: month, of: year) ~= day
    else { return nil }
    self.text = text
    let date = Self.daysSince1970(year, month, day)
    seconds = Int64(((date * 24 + hour) * 60 + minute) * 60 + second)
  }

  private static func isLeap(_ year: Int) -> Bool {
    year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let before = year - 1
    // 719,162 days lie between 0001-01-01 and 1970-01-01 in the Gregorian calendar.
    let years = before * 365 + before / 4 - before / 100 + before / 400 - 719_162
    return years + (1..<month).reduce(0) { $0 + days(in: $1, of: year) } + day - 1
  }
}

/// Reads the numbers of a time. Each method returns nil or false if the text does not match.
private struct Digits {
  private(set) var rest: ArraySlice<UInt8>

  init(_ text: String) { rest = Array(text.utf8)[...] }

  mutating func number(_ count: Int, then separator: Unicode.Scalar? = nil) -> Int? {
    guard rest.count >= count, rest.prefix(count).allSatisfy(\.isDigit) else { return nil }
    let value = rest.prefix(count).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    rest = rest.dropFirst(count)
    guard let separator else { return value }
    guard rest.first == UInt8(ascii: separator) else { return nil }
    rest = rest.dropFirst()
    return value
  }

  mutating func fraction() -> Bool {
    guard rest.first == UInt8(ascii: ".") else { return true }
    let digits = rest.dropFirst().prefix(while: \.isDigit)
    rest = rest.dropFirst(digits.count + 1)
    return !digits.isEmpty
  }
}
