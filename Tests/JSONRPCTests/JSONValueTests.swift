import FoundationEssentials
import JSONRPC
import Testing
import UsherFuzz
import UsherTestKit

struct JSONValueTests {
  private let sample: JSONValue = [
    "null": nil, "yes": true, "no": false, "one": 1, "half": 0.5, "text": "a\n\"é\u{1F639}",
    "list": [1, "two", [], [:]], "big": 9_007_199_254_740_993, "whole": .number(1),
  ]

  @Test("a JSON value that is encoded and parsed again is equal")
  func roundTrip() throws {
    #expect(try JSONValue(parsing: sample.encoded()) == sample)
  }

  @Test("a JSON value is encoded compactly, with sorted keys, on one line")
  func encoding() {
    let value: JSONValue = ["b": [1, 2.5, nil], "a": ["é": "\n"], "": true, "aa": -0.0]
    #expect(value.encoded().text == #"{"":true,"a":{"é":"\n"},"aa":-0.0,"b":[1,2.5,null]}"#)
  }

  @Test(
    "a JSON number is read as a 64-bit integer if it is one, else as a Double",
    arguments: [
      ("0", .integer(0)), ("-0", .integer(0)), ("-1", .integer(-1)), ("1.0", .number(1)),
      ("1e2", .number(100)), ("9223372036854775807", .integer(.max)),
      ("-9223372036854775808", .integer(.min)),
      ("9223372036854775808", .number(9_223_372_036_854_775_808)), ("-0.0", .number(-0.0)),
      ("5e-324", .number(.leastNonzeroMagnitude)), ("1e-400", .number(0)),
      ("1.7976931348623157e308", .number(.greatestFiniteMagnitude)), ("0.1", .number(0.1)),
    ] as [(String, JSONValue)])
  func numbers(text: String, value: JSONValue) throws {
    #expect(try JSONValue(parsing: text) == value)
    #expect(try JSONValue(parsing: value.encoded()) == value)
  }

  @Test(
    "a number that no Double holds is refused", arguments: ["1e400", "[-1e309]", #"{"a":2e999}"#])
  func outOfRange(text: String) {
    let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    #expect(error?.problem == .numberOutOfRange)
  }

  @Test("a JSON number of half a million digits is read or refused without a crash")
  func longNumbers() throws {
    let digits = String(repeating: "9", count: 500_000)
    #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: digits) }
    #expect(try JSONValue(parsing: "0." + digits) == .number(1))
    #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: "1e" + digits) }
    #expect(try JSONValue(parsing: "1e-" + digits) == .number(0))
  }

  @Test("a non-finite number cannot be a JSONValue, and is encoded as null or refused")
  func notFinite() {
    for number in [Double.infinity, -.infinity, .nan] {
      #expect(JSONValue(number) == nil)
      #expect(JSONValue.number(number).encoded().text == "null")
      #expect(throws: EncodingError.self) {
        try JSONEncoder().encode([JSONValue.number(number)])
      }
    }
    #expect(JSONValue(0.5) == .number(0.5))
  }

  @Test("JSONValue refuses two member names that Swift strings compare as equal")
  func equivalentNames() {
    let text = "{\"\u{E9}\":1,\"e\u{301}\":2}"
    #expect(Scanner().scan(text).syntaxProblem == nil)
    let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    #expect(error?.problem == .duplicateMember)
  }

  @Test("JSONValue resolves every escape in a string")
  func escapes() throws {
    let text = #""\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude39\u0000é""#
    #expect(
      try JSONValue(parsing: text) == "\"\\/\u{8}\u{C}\n\r\tA\u{E9}\u{20AC}\u{1F639}\u{0}é")
  }

  @Test("Foundation's JSON coders encode and decode a JSONValue")
  func codable() throws {
    let encoder = JSONEncoder()
    let value: JSONValue = [
      "null": nil, "yes": true, "one": 1, "half": 0.5, "text": "é", "list": [1, [], [:], "x"],
    ]
    let decoded = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(value))
    #expect(decoded == value)
    #expect(
      try JSONDecoder().decode([JSONValue].self, from: Data("[true,1,0,false]".utf8))
        == [true, 1, 0, false])
    #expect(
      try JSONDecoder().decode(JSONValue.self, from: Data(sample.encoded()))["big"]
        == 9_007_199_254_740_993)
  }

  @Test("JSONValue's accessors return a value of their type, or nil")
  func accessors() {
    #expect(sample["text"]?.stringValue == "a\n\"é\u{1F639}")
    #expect(sample["one"]?.integerValue == 1)
    #expect(sample["one"]?.numberValue == 1)
    #expect(sample["half"]?.numberValue == 0.5)
    #expect(sample["half"]?.integerValue == nil)
    #expect(sample["yes"]?.boolValue == true)
    #expect(sample["one"]?.boolValue == nil)
    #expect(sample["null"]?.isNull == true)
    #expect(sample["list"]?[1]?.stringValue == "two")
    #expect(sample["list"]?[4] == nil)
    #expect(sample["list"]?[-1] == nil)
    #expect(sample["list"]?["x"] == nil)
    #expect(sample["absent"] == nil)
    #expect(sample["list"]?.arrayValue?.count == 4)
    #expect(sample.objectValue?.count == 9)
    #expect(JSONValue.string("x").numberValue == nil)
    var value: JSONValue = 1
    value["a"] = 2
    value["b"] = 3
    value["a"] = .some(nil)
    value["b"] = Optional<JSONValue>.none
    #expect(value == ["a": nil])
    let name = "x"
    #expect("\(name)y" == JSONValue.string("xy"))
  }

  @Test("a random string is escaped to JSON and read back equal", arguments: 0..<20)
  func strings(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      var text = ""
      for _ in 0..<Int.random(in: 0...40, using: &random) {
        let range: ClosedRange<UInt32> = Bool.random(using: &random) ? 0...0x7F : 0...0x10FFFF
        if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) {
          text.unicodeScalars.append(scalar)
        }
      }
      var json: [UInt8] = []
      json.appendJSONString(text)
      #expect(json.allSatisfy { $0 >= 0x20 })
      #expect(ReferenceParser.accepts(json))
      let read = try #require(JSONValue(parsing: json).stringValue)
      #expect(Array(read.utf8) == Array(text.utf8))
      #expect(try JSONDecoder().decode(String.self, from: Data(json)) == text)
    }
  }

  @Test("JSON escaping escapes only quotes, backslashes and control characters")
  func escaper() {
    var json: [UInt8] = []
    json.appendJSONString("\u{0}\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1A}\u{1F} \"\\/\u{7F}\u{2028}é")
    #expect(
      json.text
        == "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001a\\u001f \\\"\\\\/\u{7F}\u{2028}é\"")
  }
}
