import JSONRPC
import Testing
import UsherFuzz
import UsherTestKit

/// Tests the scanner and ``JSONValue`` against RFC 8259. The cases follow the public JSONTestSuite:
/// its y texts must be accepted and its n texts refused.
struct GrammarTests {
  static let accepted = [
    "[]", "{}", "[[]   ]", #"[""]"#, #"["a"]"#, "[false]", "[null, 1, \"1\", {}]", "[null]",
    "[1\n]", " [1]", "[1,null,null,null,2]", "[2] ", "[123e65]", "[0e+1]", "[0e1]", "[ 4]",
    "[-0.0000000000000000000000000000000000000000000000000000000000000000000000000000001]",
    "[20e1]", "[-0]", "[-123]", "[-1]", "[1E22]", "[1E-2]", "[1E+2]", "[123e45]", "[123.456e78]",
    "[1e-2]", "[1e+2]", "[123]", "[123.456789]", #"{"asd":"sdf", "dfg":"fgh"}"#, #"{"a":[]}"#,
    #"{"":0}"#, #"{"foo\u0000bar": 42}"#, "{ \"min\": -1.0e+28, \"max\": 1.0e+28 }",
    #"{"a":{"a":{"a":1}},"b":{"a":1}}"#, "{\n\"a\": \"b\"\n}",
    #"["\u0060\u012a\u12AB"]"#, #"["\uD801\udc37"]"#, #"["\ud83d\ude39\ud83d\udc8d"]"#,
    #"["\"\\\/\b\f\n\r\t"]"#, #"["\\u0000"]"#, #"["\""]"#, "[\"a/*b*/c/*d//e\"]", #"["\\a"]"#,
    #"["\\n"]"#, #"["\u0012"]"#, #"["\uFFFF"]"#, "[ \"asd\"]", #"["\uDBFF\uDFFF"]"#,
    #"["new\u00A0line"]"#, "[\"\u{10FFFF}\"]", "[\"\u{FFFF}\"]", #"["\u0000"]"#, "[\"\u{2C}\"]",
    "[\"π\"]", "[\"\u{1BFFF}\"]", "[\"asd \"]", "\" \"", #"["\uD834\uDd1e"]"#, #"["\u0821"]"#,
    "[\"\u{2028}\"]", "[\"\u{2029}\"]", #"["\u0061\u30af\u30EA\u30b9"]"#, "[\"new\u{A0}line\"]",
    "[\"\u{7F}\"]", #"["\u005C"]"#, #"["\u0022"]"#, "[\"⍂㈴⍂\"]", #"["\u200B"]"#, "false", "42",
    "-0.1", "null", "\"asd\"", "true", "\"\"", "[\"a\"]\n", "[true]", " [] ", "\t\r\n[]",
    "[18446744073709551616]", "[1.7976931348623157e308]", "[1e-400]",
    #"{"é":1,"É":2}"#, #"{"ab":1,"a":2,"b":3}"#,
  ]

  static let refused: [(String, JSONSyntaxError.Problem)] = [
    ("", .blank), (" ", .blank), ("\t\r\n ", .blank),
    ("[1 true]", .noComma), ("[\"\": 1]", .noComma), ("[\"\"],", .trailingBytes),
    ("[,1]", .notAValue), ("[1,,2]", .notAValue), ("[\"x\",,]", .notAValue),
    ("[\"x\"]]", .trailingBytes), ("[\"\",]", .notAValue), ("[\"x\"", .unexpectedEnd),
    ("[x", .notAValue), ("[3[4]]", .noComma), ("[1:2]", .noComma), ("[,]", .notAValue),
    ("[-]", .malformedNumber), ("[   , \"\"]", .notAValue), ("[\"a\",\n4\n,1,", .unexpectedEnd),
    ("[1,]", .notAValue), ("[1,,]", .notAValue), ("[*]", .notAValue), ("[\"\"", .unexpectedEnd),
    ("[1,", .unexpectedEnd), ("[1,\n1\n,1", .unexpectedEnd), ("[{}", .unexpectedEnd),
    ("[fals]", .notAValue), ("[nul]", .notAValue), ("[tru]", .notAValue), ("tru", .unexpectedEnd),
    ("[True]", .notAValue), ("nullx", .trailingBytes), ("123\u{0}", .trailingBytes),
    ("[++1234]", .notAValue), ("[+1]", .notAValue), ("[+Inf]", .notAValue), ("[-01]", .noComma),
    ("[-1.0.]", .noComma), ("[-2.]", .malformedNumber), ("[-NaN]", .malformedNumber),
    ("[.-1]", .notAValue), ("[.2e-3]", .notAValue), ("[0.1.2]", .noComma),
    ("[0.3e+]", .malformedNumber), ("[0.3e]", .malformedNumber), ("[0.e1]", .malformedNumber),
    ("[0E+]", .malformedNumber), ("[0E]", .malformedNumber), ("[1.0e+]", .malformedNumber),
    ("[1.0e-]", .malformedNumber), ("[1 000.0]", .noComma), ("[1eE2]", .malformedNumber),
    ("[2.e+3]", .malformedNumber), ("[9.e+]", .malformedNumber), ("[Inf]", .notAValue),
    ("[NaN]", .notAValue), ("[１]", .notAValue), ("[1+2]", .noComma), ("[0x1]", .noComma),
    ("[0x42]", .noComma), ("[Infinity]", .notAValue), ("[-Infinity]", .malformedNumber),
    ("[- 1]", .malformedNumber), ("[-012]", .noComma), ("[012]", .noComma), ("[1a]", .noComma),
    ("[1.2a-3]", .noComma), ("-", .unexpectedEnd), ("1e", .unexpectedEnd), ("01", .trailingBytes),
    ("[\"x\", truth]", .notAValue), ("{[: \"x\"}", .notAName), ("{\"x\", null}", .noColon),
    ("{\"x\"::\"b\"}", .notAValue), ("{\"a\":\"a\" 123}", .noComma), ("{key: 'value'}", .notAName),
    ("{\"a\" b}", .noColon), ("{:\"b\"}", .notAName), ("{\"a\" \"b\"}", .noColon),
    ("{\"a\":", .unexpectedEnd), ("{\"a\"", .unexpectedEnd), ("{1:1}", .notAName),
    ("{\"id\":0,,,,,}", .notAName), ("{'a':0}", .notAName), ("{\"id\":0,}", .notAName),
    ("{\"a\":\"b\"}/**/", .trailingBytes), ("{\"a\":\"b\"}//", .trailingBytes),
    ("{\"a\":\"b\",,\"c\":\"d\"}", .notAName), ("{a: \"b\"}", .notAName),
    ("{\"a\":\"a", .unexpectedEnd), ("{ \"foo\" : \"bar\", \"a\" }", .noColon),
    ("{\"a\":\"b\"}#", .trailingBytes), ("{\"a\":\"b\"", .unexpectedEnd), ("{]", .notAName),
    ("[}", .notAValue), ("[{]}", .notAName), ("{\"a\":1]", .noComma), ("[1}", .noComma),
    (#"["\uD800\"]"#, .loneSurrogate), (#"["\uD800\u"]"#, .loneSurrogate),
    (#"["\uD800\u1"]"#, .loneSurrogate), (#"["\uD800\u1x"]"#, .loneSurrogate),
    (#"["\uD800"]"#, .loneSurrogate), (#"["\uDC00"]"#, .loneSurrogate),
    (#"["\uDd1e\uD834"]"#, .loneSurrogate), (#"["\uD800\uD800"]"#, .loneSurrogate),
    (#"["\uD800\uE000"]"#, .loneSurrogate), (#"["\uD83D\u0041"]"#, .loneSurrogate),
    ("[é]", .notAValue), (#"["\x00"]"#, .malformedEscape), (#"["\\\"]"#, .unexpectedEnd),
    (#"["\🌀"]"#, .malformedEscape), (#"["\"]"#, .unexpectedEnd), (#"["\"#, .unexpectedEnd),
    (#"["\u00A"]"#, .malformedEscape), (#"["\a"]"#, .malformedEscape),
    (#"["\uqqqq"]"#, .malformedEscape), (#"["\u 123"]"#, .malformedEscape),
    (#"["\u+123"]"#, .malformedEscape), (#"["\U0041"]"#, .malformedEscape),
    (#"["\'"]"#, .malformedEscape), (#"["\0"]"#, .malformedEscape),
    ("[\"a\u{0}a\"]", .controlCharacter), ("[\"new\nline\"]", .controlCharacter),
    ("[\"\t\"]", .controlCharacter), ("[\"\u{1F}\"]", .controlCharacter),
    ("\"abc", .unexpectedEnd), ("abc", .notAValue), ("[\"asd]", .unexpectedEnd),
    ("'single quote'", .notAValue), ("[\u{2060}]", .notAValue), ("\u{FEFF}[]", .byteOrderMark),
    ("\u{FEFF}", .byteOrderMark), ("[\u{FEFF}]", .notAValue), ("<null>", .notAValue),
    ("[1]x", .trailingBytes), ("2@", .trailingBytes), ("{}}", .trailingBytes),
    ("[][]", .trailingBytes), ("{} {}", .trailingBytes), ("[\u{C}]", .notAValue),
    ("\u{A0}[]", .notAValue), ("{", .unexpectedEnd), ("[", .unexpectedEnd), ("\"", .unexpectedEnd),
    (#"{"a":1,"a":1}"#, .duplicateMember), (#"{"a":1,"\u0061":2}"#, .duplicateMember),
    (#"{"\u0061":1,"a":2}"#, .duplicateMember), (#"{"":1,"":2}"#, .duplicateMember),
    (#"[{"b":{"c":[{"x":1,"y":2,"x":3}]}}]"#, .duplicateMember),
    (#"{"\u00e9":1,"é":2}"#, .duplicateMember), (#"{"\ud83d\ude39":1,"😹":2}"#, .duplicateMember),
  ]

  @Test("valid JSON is accepted by the scanner and both parsers", arguments: accepted)
  func valid(text: String) throws {
    #expect(Scanner().scan(text).syntaxProblem == nil)
    #expect(throws: Never.self) { try JSONValue(parsing: text) }
    #expect(ReferenceParser.accepts(Array(text.utf8)))
  }

  @Test("malformed JSON is refused with its syntax problem", arguments: refused)
  func malformed(text: String, problem: JSONSyntaxError.Problem) throws {
    #expect(Scanner().scan(text).syntaxProblem == problem)
    let thrown = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    #expect(thrown?.problem == problem)
    #expect(!ReferenceParser.accepts(Array(text.utf8)))
  }

  @Test(
    "JSON with invalid UTF-8 is refused, also in members that are ignored",
    arguments: [
      [0x80], [0xBF], [0xFF], [0xFE], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28],
      [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xE2, 0x28, 0xA1],
      [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
      [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
      [0xF8, 0x88, 0x80, 0x80, 0x80], [0xE2, 0x82, 0xC3],
    ] as [[UInt8]])
  func invalidUTF8(sequence: [UInt8]) {
    for padding in 0..<9 {
      let text =
        Array(#"{"ignored":""#.utf8) + [UInt8](repeating: 0x61, count: padding) + sequence
        + Array(#""}"#.utf8)
      #expect(Scanner().scan(text).syntaxProblem == .invalidUTF8)
      #expect(!ReferenceParser.accepts(text))
    }
  }

  @Test("JSON in UTF-16 is refused")
  func utf16() {
    #expect(Scanner().scan([0x5B, 0x00, 0x5D, 0x00]).syntaxProblem == .notAValue)
    #expect(Scanner().scan([0xFF, 0xFE, 0x5B, 0x00]).syntaxProblem == .notAValue)
  }

  @Test("JSON over the nesting limit is refused by its name", arguments: [1, 2, 32, 512])
  func nesting(limit: Int) throws {
    let limits = JSONLimits(nesting: limit)
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      func text(_ depth: Int) -> String {
        String(repeating: open, count: depth - 1) + (open == "[" ? "[]" : "{}")
          + String(repeating: close, count: depth - 1)
      }
      #expect(Scanner(limits: limits).scan(text(limit)).syntaxProblem == nil)
      #expect(throws: Never.self) { try JSONValue(parsing: text(limit), limits: limits) }
      let refusal = Scanner(limits: limits).scan(text(limit + 1)).refusal
      #expect(refusal?.reason == .syntax(.tooDeep))
      #expect(refusal?.limit == .nesting)
    }
  }

  @Test("JSON of a million open brackets does not exhaust the stack")
  func millionBrackets() {
    let limits = JSONLimits(nesting: .max)
    for open in ["[", #"{"a":"#] {
      let text = String(repeating: open, count: 1_000_000)
      #expect(Scanner(limits: limits).scan(text).syntaxProblem == .tooDeep)
    }
  }

  @Test("an object of 100,000 members is scanned in 20 seconds, and its duplicate is found")
  func manyMembers() {
    var text = "{" + (0..<100_000).map { "\"n\($0)\":0" }.joined(separator: ",")
    let took = processorTime { #expect(Scanner().scan(text + "}").syntaxProblem == nil) }
    #expect(took < .seconds(20))
    text += #","\u006e777":0}"#
    #expect(Scanner().scan(text).syntaxProblem == .duplicateMember)
  }

  @Test("a JSON syntax error names the byte offset of the problem")
  func offsets() {
    #expect(Scanner().scan(#"{"a":1,"a":2}"#).refusal?.offset == 7)
    #expect(Scanner().scan("[1,  x]").refusal?.offset == 5)
    #expect(Scanner().scan(#"["ok","\ud800"]"#).refusal?.offset == 7)
    #expect(
      Scanner().scan(#"["ok","\ud800"]"#).refusal?.message
        == "a surrogate escape is unpaired at byte 7")
  }
}
