package import UsherCore

/// A minute of the week in local time, written `Mon 08:30`.
package struct WeekMinute: CodedAsText, Hashable, Sendable {
  package static let minutesOfDay = 1440
  package static let minutesOfWeek = 7 * minutesOfDay

  /// The number of minutes since Monday 00:00, less than ``minutesOfWeek``.
  package let minute: Int

  /// Creates a minute of the week.
  ///
  /// - Parameters:
  ///   - weekday: The day; 0 is Monday.
  ///   - minute: The minute of that day.
  package init(weekday: Int, minute: Int) {
    let sum = weekday * Self.minutesOfDay + minute
    self.minute = (sum % Self.minutesOfWeek + Self.minutesOfWeek) % Self.minutesOfWeek
  }

  /// Creates the minute of the week of a timestamp, in the local time of the clock.
  package init(_ moment: Timestamp, by clock: any Clock) {
    let local = moment + clock.utcOffset(at: moment)
    let minutes = Int((Double(local.milliseconds) / 60_000).rounded(.down))
    // The timestamp counts from 1 January 1970, which was a Thursday.
    self.init(weekday: 3, minute: minutes)
  }

  package init(setting text: String) throws(SettingError) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, let weekday = OpeningHours.weekday(words[0]),
      let minute = OpeningHours.minute(words[1]), minute < Self.minutesOfDay
    else { throw SettingError("must be a day and a time, such as \"Mon 08:30\"") }
    self.init(weekday: weekday, minute: minute)
  }

  package var settingText: String {
    let (day, rest) = minute.quotientAndRemainder(dividingBy: Self.minutesOfDay)
    let (hour, minute) = rest.quotientAndRemainder(dividingBy: 60)
    let digits = [hour, minute].map { $0 < 10 ? "0\($0)" : "\($0)" }
    return "\(OpeningHours.names[day]) \(digits[0]):\(digits[1])"
  }
}

/// The hours of the week in which a rule applies: `Mon-Fri 08:00-18:00`.
///
/// The days are names and ranges, separated by commas; a range may go past Sunday. The end time is
/// exclusive. An end time before the start time is on the next day, and `24:00` can only be an end
/// time.
package struct OpeningHours: CodedAsText, Hashable, Sendable {
  fileprivate static let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

  package let settingText: String
  private let days: Set<Int>
  private let opens: Int
  private let minutes: Int

  package init(setting text: String) throws(SettingError) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    let times = words.last?.split(separator: "-", omittingEmptySubsequences: false) ?? []
    guard words.count == 2, times.count == 2, let days = Self.days(words[0]),
      let opens = Self.minute(times[0]), let closes = Self.minute(times[1]),
      opens < WeekMinute.minutesOfDay, opens != closes
    else {
      throw SettingError("must be days and a time, such as \"Mon-Fri 08:00-18:00\"")
    }
    settingText = text
    self.days = days
    self.opens = opens
    minutes = closes > opens ? closes - opens : closes - opens + WeekMinute.minutesOfDay
  }

  package func contains(_ time: WeekMinute) -> Bool {
    days.contains { Self.distance(from: opening(on: $0), to: time.minute) < minutes }
  }

  /// Returns the number of minutes until the hours begin next; at least 1.
  package func minutesUntilOpening(after time: WeekMinute) -> Int {
    let waits = days.map { Self.distance(from: time.minute, to: opening(on: $0)) }
    return max(waits.min() ?? 0, 1)
  }

  private func opening(on day: Int) -> Int { day * WeekMinute.minutesOfDay + opens }

  /// Returns the number of minutes from one minute of the week forward to another.
  private static func distance(from start: Int, to end: Int) -> Int {
    let week = WeekMinute.minutesOfWeek
    return ((end - start) % week + week) % week
  }

  private static func days(_ text: Substring) -> Set<Int>? {
    var days: Set<Int> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false)
        .map { weekday($0) }
      guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1]
      else { return nil }
      for step in 0...((last - first + 7) % 7) { days.insert((first + step) % 7) }
    }
    return days
  }

  /// Returns the number of a weekday; 0 is Monday.
  fileprivate static func weekday(_ name: Substring) -> Int? { names.firstIndex(of: String(name)) }

  /// Returns the minute of the day; 1440 for `24:00`.
  fileprivate static func minute(_ text: Substring) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2,
      parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy(\.isDigit) }),
      let hour = Int(parts[0]), let minute = Int(parts[1]), minute < 60,
      hour * 60 + minute <= WeekMinute.minutesOfDay
    else { return nil }
    return hour * 60 + minute
  }
}
