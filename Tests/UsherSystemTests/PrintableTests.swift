import Testing

@testable import UsherSystem

@Suite("Foreign text on one line")
struct PrintableTests {
  @Test(
    "characters that end a line, move a cursor or reorder text are escaped",
    arguments: [
      ("a\nb", #"a\nb"#), ("a\r\nb", #"a\r\nb"#), ("a\tb", #"a\tb"#),
      ("\u{1b}[2J", #"\u{1b}[2J"#), ("\u{9b}2J", #"\u{9b}2J"#), ("\u{7f}", #"\u{7f}"#),
      ("\u{0}", #"\u{0}"#), ("\u{2028}", #"\u{2028}"#), ("\u{202e}abc", #"\u{202e}abc"#),
      ("\u{2066}", #"\u{2066}"#), (#"a\nb"#, #"a\\nb"#),
    ])
  func escaped(text: String, line: String) {
    #expect(Printable.line(text) == line)
  }

  @Test("letters and emoji of any script are printed unchanged")
  func plain() {
    #expect(Printable.line("Zoë 日本 👍🏽 \u{65}\u{301}") == "Zoë 日本 👍🏽 \u{65}\u{301}")
  }

  @Test(
    "a logged value with spaces, equals signs or quotes is quoted",
    arguments: [
      ("plain", "plain"), ("", "\"\""), ("two words", "\"two words\""), ("a=b", "\"a=b\""),
      (#"say "hi""#, #""say \"hi\"""#), ("x\nflow=y", #""x\nflow=y""#),
      (#"back\" x"#, #""back\\\" x""#),
    ])
  func value(text: String, shown: String) {
    #expect(Printable.value(text) == shown)
  }
}
