import Testing

@testable import UsherConfig

@Suite("TOML parser")
struct TomlTests {
  private func parse(_ text: String) throws(ConfigError) -> TomlTable {
    try TomlTable.parse(Array(text.utf8), file: "a.toml")
  }

  private func refusal(_ bytes: some Sequence<UInt8>) -> ConfigProblem? {
    do throws(ConfigError) {
      _ = try TomlTable.parse(Array(bytes), file: "a.toml")
      return nil
    } catch {
      return error.problems.first
    }
  }

  private func refusal(_ text: String) -> String? { refusal(text.utf8)?.description }

  @Test("every kind of TOML value is read with line and column of its key and value")
  func kinds() throws {
    let table = try parse(
      "s = \"wörk\"\nf = 1.5\n b  =  true\ni = -3\nd = 1979-05-27\na = [1, 2]\n")
    #expect(table.entries.map(\.key) == ["s", "f", "b", "i", "d", "a"])
    #expect(table["s"]?.node.value == .string("wörk"))
    #expect(table["f"]?.node.value == .float(1.5))
    #expect(table["b"]?.node.value == .boolean(true))
    #expect(table["b"]?.keyPosition == SourcePosition(file: "a.toml", line: 3, column: 2))
    #expect(table["b"]?.node.position == SourcePosition(file: "a.toml", line: 3, column: 8))
    #expect(table["i"]?.node.value == .integer(-3))
    #expect(table["d"]?.node.value == .date)
    guard case .array(let nodes) = table["a"]?.node.value else { return #expect(Bool(false)) }
    #expect(nodes.map(\.value) == [.integer(1), .integer(2)])
    #expect(nodes.map { $0.position?.column } == [6, 9])
  }

  @Test("TOML columns count characters, not bytes")
  func columns() throws {
    let table = try parse("\"ö\" = { x = 1 }")
    guard case .table(let inner) = table["ö"]?.node.value else { return #expect(Bool(false)) }
    #expect(inner["x"]?.keyPosition?.column == 9)
  }

  @Test("an empty TOML document, or one with only a comment, is an empty table")
  func empty() throws {
    #expect(try parse("").entries.isEmpty)
    #expect(try parse("\u{FEFF}# only a comment").entries.isEmpty)
  }

  @Test(
    "a TOML syntax error names its line and column",
    arguments: [
      ("a = \n", "a.toml:1:5"), ("a = 1\nb : 2\n", "a.toml:2:3"), ("[a\nb = 1", "a.toml:1:3"),
      ("a = 1\na = 2", "a.toml:2:5"), ("a = \"x", "a.toml:1:7"),
    ])
  func syntax(text: String, place: String) {
    #expect(refusal(text)?.hasPrefix(place + ": ") == true, "\(refusal(text) ?? "read")")
  }

  @Test(
    "TOML that would break the parser's assertions is refused with its line",
    arguments: [
      ("a = 1\n\n[[\u{1}a]]\nb = 1\n", "a.toml:3:1: not TOML"),
      ("[{a}]", "a.toml:1:1: not TOML"),
      ("\n[{a}]\n\n\n", "a.toml:2:1: not TOML"),
      ("a \u{D0}", "a.toml:1:3: "),
    ])
  func assertions(text: String, problem: String) {
    #expect(refusal(text)?.hasPrefix(problem) == true, "\(refusal(text) ?? "read")")
  }

  @Test("a TOML integer beyond 64 bits is refused")
  func hugeInteger() {
    #expect(refusal("a = 99999999999999999999")?.contains("64 bits") == true)
    #expect(refusal("a = -9223372036854775809")?.contains("64 bits") == true)
    #expect(refusal("a = 9223372036854775807") == nil)
  }

  @Test(
    "TOML with a NUL, another control character or an invalid escape is refused",
    arguments: [
      "a = \"x\0y\"", "a\0 = 1", "# \u{1}", "a = \"\u{7F}\"", "a = \"\\ud800\"", "a = \"\\x\"",
      "\0",
    ])
  func controls(text: String) {
    #expect(refusal(text) != nil)
  }

  @Test(
    "invalid UTF-8 in TOML is refused with its line",
    arguments: [
      [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82],
    ] as [[UInt8]])
  func encoding(bytes: [UInt8]) throws {
    let problem = try #require(refusal(Array("\na = \"".utf8) + bytes + Array("\"\n".utf8)))
    #expect(problem.line == 2)
  }

  @Test("TOML values nested too deep are refused")
  func nesting() {
    let deep = 100_000
    let arrays = "a = " + String(repeating: "[", count: deep) + String(repeating: "]", count: deep)
    #expect(refusal(arrays)?.contains("nested") == true)
    #expect(refusal("a = " + String(repeating: "{a = ", count: deep))?.contains("nested") == true)
  }

  @Test("a TOML key with more than 256 dots is refused in headers, keys and inline tables")
  func dots() {
    let key = Array(repeating: "a", count: 300_000).joined(separator: ".")
    for text in ["[\(key)]", "[[\(key)]]", "\(key) = 1", "x = 1\na = {\(key) = 1}"] {
      #expect(refusal(text)?.contains("256 dots") == true)
    }
  }

  @Test("the deepest accepted TOML is read without a stack overflow")
  func deepest() throws {
    let key = Array(repeating: "a", count: 256).joined(separator: ".")
    let text = (0..<7).reduce("\(key) = 1") { inner, _ in "\(key) = [\n{\(inner)}]" }
    #expect(try parse(text).entries.count == 1)
  }

  @Test("a TOML file of 1 MiB is read, and a larger one is refused")
  func size() throws {
    let line = "#" + String(repeating: "x", count: TomlTable.maxFileBytes - 1)
    #expect(try parse(line).entries.isEmpty)
    #expect(refusal(line + "x") == "a.toml: the file is larger than 1048576 bytes")
  }

  @Test("TOML keys that differ only in Unicode composition are different keys")
  func composition() throws {
    #expect(try parse("\"\u{E9}\" = 1\n\"e\u{301}\" = 2").entries.count == 2)
  }

  @Test("written TOML is read and written again as the same text")
  func roundTrip() throws {
    let text = """
      a = [1, [2, "x"]]
      s = "q\\"\\\\\\u0001\\n\\u007f ü"
      [t]
      f = 1.5
      [t."odd key"]
      b = false
      [[t.u]]
      [[t.u]]
      x = []
      """
    let written = try parse(text).text
    #expect(try parse(written).text == written)
    #expect(written.contains("[t.\"odd key\"]\nb = false\n"))
    #expect(written.contains("s = \"q\\\"\\\\\\u0001\\u000a\\u007f ü\""))
    #expect(written.contains("[[t.u]]\n\n[[t.u]]\nx = []\n"))
  }
}
