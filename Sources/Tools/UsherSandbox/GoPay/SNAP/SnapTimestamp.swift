import FoundationEssentials

/// A time in SNAP's format, `2026-11-21T23:50:00+07:00`, always with an offset.
struct SnapTimestamp: Sendable, Hashable {
  let date: Date

  /// Returns nil for other formats, such as fractions or `Z`, and for impossible dates and times.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    let shape = Array("0000-00-00T00:00:00+00:00".utf8)
    guard bytes.count == shape.count, zip(bytes, shape).allSatisfy(Self.fits) else { return nil }
    func number(_ place: Range<Int>) -> Int {
      bytes[place].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
    let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
    let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
    let (offsetHours, offsetMinutes) = (number(20..<22), number(23..<25))
    guard (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day), hour < 24,
      minute < 60, second < 60, offsetHours < 15, offsetMinutes < 60
    else { return nil }
    let offset = (offsetHours * 60 + offsetMinutes) * (bytes[19] == UInt8(ascii: "-") ? -60 : 60)
    let seconds = Self.day(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    date = Date(timeIntervalSince1970: Double(seconds))
  }

  init(_ date: Date) {
    self.date = date
  }

  /// The time in Jakarta's offset, in whole seconds.
  var text: String {
    let local = Int(date.timeIntervalSince1970.rounded(.down)) + 7 * 3600
    let seconds = ((local % 86_400) + 86_400) % 86_400
    let (year, month, day) = Self.civil((local - seconds) / 86_400)
    func padded(_ number: Int, _ width: Int = 2) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    return "\(padded(year, 4))-\(padded(month))-\(padded(day))T\(padded(seconds / 3600)):"
      + "\(padded(seconds / 60 % 60)):\(padded(seconds % 60))+07:00"
  }

  private static func fits(_ byte: UInt8, _ place: UInt8) -> Bool {
    switch place {
    case UInt8(ascii: "0"): (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    case UInt8(ascii: "+"): byte == place || byte == UInt8(ascii: "-")
    default: byte == place
    }
  }

  private static func days(in month: Int, of year: Int) -> Int {
    let next = month == 12 ? day(year + 1, 1, 1) : day(year, month + 1, 1)
    return next - day(year, month, 1)
  }

  /// Returns the days since 1970-01-01 of a Gregorian date. The calculation starts years in March.
  private static func day(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let years = year - (month <= 2 ? 1 : 0)
    let yearDay = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return years * 365 + years / 4 - years / 100 + years / 400 + yearDay - 719_468
  }

  /// Returns the Gregorian date of a number of days since 1970-01-01.
  private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
    var year = 1970 + days / 366
    while day(year + 1, 1, 1) <= days { year += 1 }
    var month = 1
    while month < 12, day(year, month + 1, 1) <= days { month += 1 }
    return (year, month, days - day(year, month, 1) + 1)
  }
}
