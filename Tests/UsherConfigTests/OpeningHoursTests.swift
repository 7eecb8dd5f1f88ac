import Testing
import UsherConfig

@Suite("Opening hours of a rule")
struct OpeningHoursTests {
  @Test(
    "opening hours include the start minute and exclude the end minute, also past midnight",
    arguments: [
      ("Mon-Fri 08:00-18:00", "Mon 07:59", false), ("Mon-Fri 08:00-18:00", "Mon 08:00", true),
      ("Mon-Fri 08:00-18:00", "Wed 12:00", true), ("Mon-Fri 08:00-18:00", "Fri 17:59", true),
      ("Mon-Fri 08:00-18:00", "Fri 18:00", false), ("Mon-Fri 08:00-18:00", "Sat 12:00", false),
      ("Mon-Fri 08:00-18:00", "Sun 12:00", false), ("Tue 08:00-08:01", "Tue 08:00", true),
      ("Tue 08:00-08:01", "Tue 08:01", false),
      // An end before the start is on the next day, also from Sunday to Monday.
      ("Mon 22:00-06:00", "Mon 21:59", false), ("Mon 22:00-06:00", "Mon 22:00", true),
      ("Mon 22:00-06:00", "Mon 23:59", true), ("Mon 22:00-06:00", "Tue 00:00", true),
      ("Mon 22:00-06:00", "Tue 05:59", true), ("Mon 22:00-06:00", "Tue 06:00", false),
      ("Mon 22:00-06:00", "Mon 05:59", false), ("Mon 22:00-06:00", "Tue 22:00", false),
      ("Sun 22:00-06:00", "Mon 00:00", true), ("Sun 22:00-06:00", "Mon 05:59", true),
      ("Sun 22:00-06:00", "Mon 06:00", false), ("Sun 22:00-06:00", "Sun 05:59", false),
      ("Sat-Sun 23:00-01:00", "Mon 00:59", true), ("Sat-Sun 23:00-01:00", "Sat 00:59", false),
      ("Fri 22:00-00:00", "Fri 23:59", true), ("Fri 22:00-00:00", "Sat 00:00", false),
      // 24:00 is the end of a day.
      ("Mon 00:00-24:00", "Mon 00:00", true), ("Mon 00:00-24:00", "Mon 23:59", true),
      ("Mon 00:00-24:00", "Tue 00:00", false), ("Mon 00:00-24:00", "Sun 23:59", false),
      ("Sun 12:00-24:00", "Sun 23:59", true), ("Sun 12:00-24:00", "Mon 00:00", false),
      ("Mon-Sun 00:00-24:00", "Thu 03:07", true), ("Mon-Sun 00:00-24:00", "Sun 23:59", true),
    ])
  func moments(hours: String, moment: String, holds: Bool) throws {
    #expect(try OpeningHours(setting: hours).contains(WeekMinute(setting: moment)) == holds)
  }

  @Test(
    "the days of opening hours may be names, ranges, ranges over Sunday and lists",
    arguments: [
      ("Mon", [0]), ("Wed-Fri", [2, 3, 4]), ("Sat-Mon", [5, 6, 0]), ("Fri-Fri", [4]),
      ("Mon,Wed-Thu,Sun", [0, 2, 3, 6]), ("Mon-Sun", Array(0..<7)), ("Tue-Mon", Array(0..<7)),
    ])
  func days(text: String, days: [Int]) throws {
    let hours = try OpeningHours(setting: "\(text) 10:00-11:00")
    let found = (0..<7).filter { hours.contains(WeekMinute(weekday: $0, minute: 630)) }
    #expect(Set(found) == Set(days))
  }

  @Test(
    "closed opening hours give the number of minutes until they open again",
    arguments: [
      ("Mon-Fri 08:00-18:00", "Mon 07:59", 1), ("Mon-Fri 08:00-18:00", "Mon 18:00", 840),
      ("Mon-Fri 08:00-18:00", "Fri 18:00", 3720), ("Mon-Fri 08:00-18:00", "Sun 23:59", 481),
      ("Mon 08:00-09:00", "Mon 09:00", 7 * 1440 - 60), ("Sun 22:00-06:00", "Mon 06:00", 9600),
      ("Mon,Thu 08:00-09:00", "Tue 08:00", 2880),
    ])
  func waits(hours: String, moment: String, minutes: Int) throws {
    let hours = try OpeningHours(setting: hours)
    let moment = try WeekMinute(setting: moment)
    #expect(!hours.contains(moment))
    #expect(hours.minutesUntilOpening(after: moment) == minutes)
    let opening = WeekMinute(weekday: 0, minute: moment.minute + minutes)
    #expect(hours.contains(opening))
    #expect(!hours.contains(WeekMinute(weekday: 0, minute: moment.minute + minutes - 1)))
  }

  @Test("opening hours keep their setting text")
  func text() throws {
    for text in ["Mon-Fri 08:00-18:00", "Sat-Mon,Wed 22:00-06:00", "Sun 00:00-24:00"] {
      #expect(try OpeningHours(setting: text).settingText == text)
    }
  }

  @Test(
    "a malformed entry of hours is a problem that names line, column and index",
    arguments: [
      "", " ", "Mon", "08:00-18:00", "Mon 08:00", "Mon 08:00-", "Mon -18:00", "Mon 8:00-18:00",
      "Mon 08:60-18:00", "Mon 08:00-24:01", "Mon 08:00-25:00", "Mon 24:00-06:00",
      "Mon 08:00-08:00", "Mon 00:00-00:00", "mon 08:00-18:00", "Monday 08:00-18:00",
      "Mon- 08:00-18:00", "-Mon 08:00-18:00", "Mon-Tue-Wed 08:00-18:00", "Mon,,Tue 08:00-18:00",
      "Mon, 08:00-18:00", "Mon  08:00-18:00", "Mon 08:00-18:00-20:00", "Mon +8:00-18:00",
      "Mon 08:00-18:00 ", "Mon 0800-1800", "Mon 08:00:00-18:00:00", "Mon ٠٨:٠٠-18:00",
    ])
  func refusals(text: String) {
    let found = problems(
      client("{ user = 1 }") + "hours = [\"Mon 08:00-09:00\",\n \"\(text)\"]\n")
    #expect(
      found
        == "usherd.toml:6:2: client[0].hours[1]: "
        + "must be days and a time, such as \"Mon-Fri 08:00-18:00\"")
  }

  @Test("a week minute keeps its text, wraps at the end of the week, and malformed text is refused")
  func momentText() throws {
    for text in ["Mon 00:00", "Sun 23:59", "Thu 08:05"] {
      #expect(try WeekMinute(setting: text).settingText == text)
    }
    for text in ["", "Mon", "Mon 24:00", "Mon 8:00", "mon 08:00", "Mon-Tue 08:00", "Mon 08:00 "] {
      #expect(throws: SettingError("must be a day and a time, such as \"Mon 08:30\"")) {
        try WeekMinute(setting: text)
      }
    }
    #expect(WeekMinute(weekday: 6, minute: 1440) == WeekMinute(weekday: 0, minute: 0))
    #expect(WeekMinute(weekday: 0, minute: -1).settingText == "Sun 23:59")
  }
}
