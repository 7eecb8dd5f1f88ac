import FoundationEssentials
import Testing
import UsherCore
import UsherTestKit

@Suite("Timestamps in RFC 3339")
struct TimestampTextTests {
  @Test(
    "a timestamp is written in RFC 3339 and read back equal",
    arguments: [
      (0, "1970-01-01T00:00:00Z"),
      (1, "1970-01-01T00:00:00.001Z"),
      (-1, "1969-12-31T23:59:59.999Z"),
      (-1000, "1969-12-31T23:59:59Z"),
      (1_700_000_000_000, "2023-11-14T22:13:20Z"),
      (1_700_000_000_120, "2023-11-14T22:13:20.120Z"),
      (951_782_400_000, "2000-02-29T00:00:00Z"),
      (951_868_800_000, "2000-03-01T00:00:00Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00Z"),
      (4_107_456_000_000, "2100-02-28T00:00:00Z"),
      (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
      (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func known(milliseconds: Int64, text: String) {
    #expect(Timestamp(milliseconds: milliseconds).description == text)
    #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    checkWire([Timestamp(milliseconds: milliseconds)], "[\"\(text)\"]")
  }

  @Test("the text of a timestamp keeps every millisecond")
  func milliseconds() {
    for start in [1_700_000_000_000, 4_102_444_800_000, -86_400_000] as [Int64] {
      for offset in 0..<1000 as Range<Int64> {
        let time = Timestamp(milliseconds: start + offset)
        #expect(Timestamp(rfc3339: time.description) == time)
      }
    }
  }

  @Test(
    "the text of each calendar day is read back equal and sorts in the order of time",
    arguments: [(-10_957, 146_097, 1), (-719_162, 36_159, 101)] as [(Int64, Int64, Int64)])
  func everyDay(first: Int64, count: Int64, step: Int64) {
    var before = ""
    for index in 0..<count {
      let time = Timestamp(milliseconds: (first + index * step) * 86_400_000)
      let text = time.description
      if Timestamp(rfc3339: text) != time || text <= before {
        Issue.record("day \(first + index * step) is written as \(text)")
        return
      }
      before = text
    }
  }

  @Test("the text of a timestamp equals that of Foundation's calendar")
  func foundation() {
    let style = Date.ISO8601FormatStyle()
    for step in 0..<4000 as Range<Int64> {
      let seconds = -11_000_000_000 + step * 61_803_399
      let time = Timestamp(milliseconds: seconds * 1000)
      #expect(time.description == Date(timeIntervalSince1970: Double(seconds)).formatted(style))
    }
  }

  @Test(
    "an RFC 3339 text is read with any offset, either case and any number of digits",
    arguments: [
      ("2023-11-15T00:13:20+02:00", 1_700_000_000_000),
      ("2023-11-14T16:43:20-05:30", 1_700_000_000_000),
      ("2023-11-14T22:13:20-00:00", 1_700_000_000_000),
      ("2023-11-14t22:13:20z", 1_700_000_000_000),
      ("2023-11-14T22:13:20.1Z", 1_700_000_000_100),
      ("2023-11-14T22:13:20.0999999999999999999999Z", 1_700_000_000_099),
      ("1969-12-31T23:59:59.5Z", -500),
      ("2016-12-31T23:59:60Z", 1_483_228_800_000),
      ("2017-01-01T00:59:60.25+01:00", 1_483_228_800_250),
      ("0001-01-01T01:00:00+01:00", -62_135_596_800_000),
    ] as [(String, Int64)])
  func lenient(text: String, milliseconds: Int64) {
    #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
  }

  @Test(
    "a text that is not a valid RFC 3339 time is refused",
    arguments: [
      "", "now", "0", "2023-11-14", "22:13:20Z", "2023-11-14T22:13:20", "2023-11-14T22:13Z",
      "2023-11-14 22:13:20Z", " 2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z ",
      "2023-11-14T22:13:20Zjunk", "2023-11-14T22:13:20.Z", "2023-11-14T22:13:20,5Z",
      "20231114T221320Z", "2023-1-14T22:13:20Z", "23-11-14T22:13:20Z", "+2023-11-14T22:13:20Z",
      "-2023-11-14T22:13:20Z", "12023-11-14T22:13:20Z", "2023-02-29T00:00:00Z",
      "2024-02-30T00:00:00Z", "2100-02-29T00:00:00Z", "2023-04-31T00:00:00Z",
      "2023-00-10T00:00:00Z", "2023-13-10T00:00:00Z", "2023-01-00T00:00:00Z",
      "2023-01-32T00:00:00Z", "2023-11-14T24:00:00Z", "2023-11-14T22:60:00Z",
      "2023-11-14T22:13:61Z", "2023-11-14T22:13:60Z", "2023-11-14T23:59:60+02:00",
      "2023-11-14T22:13:20+24:00", "2023-11-14T22:13:20+02:60", "2023-11-14T22:13:20+0200",
      "2023-11-14T22:13:20+02", "2023-11-14T22:13:20+", "2023-11-14T22:13:20 02:00",
      "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
      "9999-12-31T23:59:60Z", "２023-11-14T22:13:20Z", "2023-11-14T22:13:20Z\0",
    ])
  func refused(text: String) {
    #expect(Timestamp(rfc3339: text) == nil)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([Timestamp].self, from: JSONEncoder().encode([text]))
    }
  }

  @Test("a JSON number is not decoded as a timestamp")
  func number() {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([Timestamp].self, from: Data("[1700000000]".utf8))
    }
  }
}

@Suite("Timestamps")
struct TimestampTests {
  private let now = Timestamp(milliseconds: 1_700_000_000_000)

  @Test("no timestamp is before the year 0001", arguments: [Int64.min, -62_135_596_800_001])
  func early(milliseconds: Int64) {
    #expect(Timestamp(milliseconds: milliseconds) == .earliest)
    #expect(Timestamp.earliest.description == "0001-01-01T00:00:00Z")
  }

  @Test(
    "no timestamp is after the year 9999", arguments: [Int64.max, 253_402_300_800_000, 1 << 53])
  func late(milliseconds: Int64) {
    #expect(Timestamp(milliseconds: milliseconds) == .latest)
    #expect(Timestamp.latest.description == "9999-12-31T23:59:59.999Z")
  }

  @Test("a timestamp is made from any number of seconds, clamped to its range")
  func seconds() {
    #expect(Timestamp(seconds: 1_700_000_000) == now)
    #expect(Timestamp(seconds: 1.0006).milliseconds == 1001)
    #expect(Timestamp(seconds: -1.5).milliseconds == -1500)
    #expect(Timestamp(seconds: .infinity) == .latest)
    #expect(Timestamp(seconds: -.infinity) == .earliest)
    #expect(Timestamp(seconds: .greatestFiniteMagnitude) == .latest)
    #expect(Timestamp(seconds: -1e300) == .earliest)
    #expect(Timestamp(seconds: .nan).milliseconds == 0)
    #expect(now.seconds == 1_700_000_000)
  }

  @Test("a timestamp is moved by durations and compared")
  func arithmetic() {
    #expect((now + .milliseconds(1)).milliseconds == 1_700_000_000_001)
    #expect((now - .seconds(1)).milliseconds == 1_699_999_999_000)
    #expect(now + .seconds(60) - now == .seconds(60))
    #expect(now - (now + .seconds(60)) == .seconds(-60))
    #expect(now < now + .milliseconds(1))
    #expect(!(now < now))
  }

  @Test("timestamp arithmetic stops at the ends of the range instead of trapping")
  func extremes() {
    let forever = Duration.seconds(Int64.max) + .seconds(Int64.max)
    #expect(now + forever == .latest)
    #expect(now - forever == .earliest)
    #expect(now + (.zero - forever) == .earliest)
    #expect(now - (.zero - forever) == .latest)
    #expect(now + .milliseconds(Int64.max) == .latest)
    #expect(Timestamp.earliest + (.latest - .earliest) == .latest)
    #expect(Timestamp.latest - (.latest - .earliest) == .earliest)
    #expect((Timestamp.latest - .earliest).milliseconds == 315_537_897_599_999)
  }

  @Test("a duration's milliseconds are rounded toward zero and clamped")
  func milliseconds() {
    #expect(Duration.seconds(2).milliseconds == 2000)
    #expect(Duration.microseconds(1999).milliseconds == 1)
    #expect(Duration.microseconds(-1999).milliseconds == -1)
    #expect(Duration.milliseconds(Int64.max).milliseconds == .max)
    #expect(Duration.milliseconds(Int64.min).milliseconds == .min)
    #expect(Duration.seconds(Int64.max).milliseconds == .max)
    #expect((Duration.seconds(Int64.min) + .seconds(Int64.min)).milliseconds == .min)
  }

  @Test("the system clock returns a time in this century")
  func machine() throws {
    let time = SystemClock().now()
    #expect(time > (try #require(Timestamp(rfc3339: "2024-01-01T00:00:00Z"))))
    #expect(time < (try #require(Timestamp(rfc3339: "2100-01-01T00:00:00Z"))))
  }
}
