extension Timestamp: CustomStringConvertible {
  /// The time as RFC 3339 text in UTC, with milliseconds only if they are not zero.
  public var description: String {
    let (days, millisecond) = milliseconds.quotientAndRemainder(flooredBy: 86_400_000)
    let (second, fraction) = millisecond.quotientAndRemainder(flooredBy: 1000)
    let day = CalendarDay(number: Int(days))
    let date = "\(padded(day.year, 4))-\(padded(day.month, 2))-\(padded(day.day, 2))"
    let (hour, minute) = (Int(second) / 3600, Int(second) / 60 % 60)
    let time = "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(Int(second) % 60, 2))"
    return fraction == 0 ? "\(date)T\(time)Z" : "\(date)T\(time).\(padded(Int(fraction), 3))Z"
  }

  /// Parses a time of RFC 3339 § 5.6 with any offset and any number of fractional digits; digits
  /// after the third are dropped. A leap second (`23:59:60` in UTC) is read as the following
  /// second, as the system clock does.
  ///
  /// Returns nil for any other text, such as a day that does not exist, a space instead of the `T`,
  /// or a year before 0001.
  public init?(rfc3339 text: String) {
    var reader = TimeReader(text)
    guard let day = reader.day(), reader.consume("T", "t"), let time = reader.timeOfDay(),
      let offset = reader.offset(), reader.isAtEnd
    else { return nil }
    let seconds = Int64(day.number * 86_400 + time.seconds - offset)
    let milliseconds = seconds * 1000 + Int64(time.milliseconds)
    guard Self.bounds.contains(milliseconds) else { return nil }
    guard !time.isLeapSecond || seconds % 86_400 == 0 else { return nil }
    self.init(milliseconds: milliseconds)
  }
}

extension Timestamp: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let time = Timestamp(rfc3339: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not an RFC 3339 time")
    }
    self = time
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

/// Reads the parts of a time in RFC 3339 text. Each method returns nil or false if the text does
/// not match.
private struct TimeReader {
  private var remaining: Substring.UTF8View

  init(_ text: String) { remaining = text[...].utf8 }

  var isAtEnd: Bool { remaining.isEmpty }

  mutating func consume(_ letters: UnicodeScalar...) -> Bool {
    guard let byte = remaining.first, letters.contains(UnicodeScalar(byte)) else { return false }
    remaining.removeFirst()
    return true
  }

  mutating func day() -> CalendarDay? {
    guard let year = number(digits: 4), consume("-"), let month = number(digits: 2), consume("-"),
      let day = number(digits: 2)
    else { return nil }
    return CalendarDay(year: year, month: month, day: day)
  }

  mutating func timeOfDay() -> (seconds: Int, milliseconds: Int, isLeapSecond: Bool)? {
    guard let minutes = hoursAndMinutes(), consume(":"),
      let second = number(digits: 2, in: 0...60), let milliseconds = fraction()
    else { return nil }
    return (minutes * 60 + second, milliseconds, second == 60)
  }

  /// Reads the offset of a time zone and returns it in seconds east of Greenwich.
  mutating func offset() -> Int? {
    if consume("Z", "z") { return 0 }
    let isWest = remaining.first == UInt8(ascii: "-")
    guard consume("+", "-"), let minutes = hoursAndMinutes() else { return nil }
    return isWest ? -minutes * 60 : minutes * 60
  }

  private mutating func hoursAndMinutes() -> Int? {
    guard let hour = number(digits: 2, in: 0...23), consume(":"),
      let minute = number(digits: 2, in: 0...59)
    else { return nil }
    return hour * 60 + minute
  }

  /// Reads a fraction of a second and returns it in milliseconds; 0 if there is none.
  private mutating func fraction() -> Int? {
    guard consume(".") else { return 0 }
    var (value, weight, count) = (0, 100, 0)
    while let digit = digit() {
      value += digit * weight
      weight /= 10
      count += 1
    }
    return count > 0 ? value : nil
  }

  private mutating func number(digits: Int, in range: ClosedRange<Int> = 0...9999) -> Int? {
    var value = 0
    for _ in 0..<digits {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return range.contains(value) ? value : nil
  }

  private mutating func digit() -> Int? {
    guard let byte = remaining.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
      return nil
    }
    remaining.removeFirst()
    return Int(byte - UInt8(ascii: "0"))
  }
}

private func padded(_ number: Int, _ width: Int) -> String {
  let digits = String(number)
  return String(repeating: "0", count: max(width - digits.count, 0)) + digits
}

extension Int64 {
  /// Returns the quotient rounded down and the remainder, which is never negative for a positive
  /// divisor.
  fileprivate func quotientAndRemainder(flooredBy divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
