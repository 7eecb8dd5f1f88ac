import Testing
import UsherClient

@testable import UsherCommands

@Suite("Text that usherctl prints on a terminal")
struct PrintableTests {
  @Test(
    "usherctl replaces control and direction characters before it prints text",
    arguments: [
      "\u{1B}[2J", "a\rb", "a\nb", "a\tb", "a\u{7F}b", "a\u{9B}31mb", "a\u{202E}b", "a\u{2028}b",
      "a\u{200B}b", "a\u{E0041}b", "\u{0}",
    ])
  func replaced(text: String) {
    #expect(text.printable.contains("\u{FFFD}"))
    #expect(!text.printable.unicodeScalars.contains { $0.value < 32 || $0.value == 0x9B })
  }

  @Test(
    "usherctl prints letters of every script unchanged",
    arguments: ["Zoë", "漢字", "👍🏽", "naïve – “quoted”", ""])
  func kept(text: String) {
    #expect(text.printable == text)
  }

  @Test("usherctl escapes control characters in JSON, and the JSON value stays the same")
  func json() throws {
    let json = "{\"a\":\"x\u{9B}y\u{202E}z\u{E0041}\"}"
    #expect(json.printableJSON == #"{"a":"x\u009by\u202ez\udb40\udc41"}"#)
  }

  @Test("usherctl's table columns are as wide as their widest cell, without trailing spaces")
  func table() {
    let terminal = ScriptedTerminal()
    Console(terminal).table(["NAME", "B"], [["a\u{1B}", ""], ["long name", "x"]])
    #expect(terminal.output == "NAME       B\na\u{FFFD}         -\nlong name  x\n")
  }

  @Test("usherctl overwrites a terminal line only if it fits, and without control characters")
  func rewrite() {
    let terminal = ScriptedTerminal(columns: 4)
    let console = Console(terminal)
    #expect(console.rewriteLineAbove("a\u{1B}c"))
    #expect(terminal.error == "\u{1B}7\u{1B}[A\ra\u{FFFD}c\u{1B}[K\u{1B}8")
    #expect(!console.rewriteLineAbove("abcd"))
    #expect(!Console(ScriptedTerminal()).rewriteLineAbove("a"))
  }
}
