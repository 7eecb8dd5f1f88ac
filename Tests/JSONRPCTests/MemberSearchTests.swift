import Testing

@testable import JSONRPC

@Suite("Search for a few members in an object's text")
struct MemberSearchTests {
  private func find(_ names: [StaticString], in text: String) -> [MemberSearch.Found?] {
    within(text) { MemberSearch.find(names, in: $0) }
  }

  @Test("a searched member is returned as an unescaped string, or as the range of another value")
  func found() {
    let text = #" {"x":[{"a":"no"}], "\u0061" : "w\u006frk","b":{"a":1},"c":"" } "#
    #expect(
      find(["a", "b", "c", "d"], in: text) == [.text("work"), .other(47..<54), .text(""), nil])
  }

  @Test("MemberSearch compares member names by their bytes")
  func bytes() {
    #expect(find(["K", "e\u{301}"], in: "{\"\u{212A}\":\"x\",\"\u{e9}\":\"x\"}") == [nil, nil])
  }

  @Test("a searched member that is a string of more than 256 bytes is not read")
  func long() {
    for (count, isRead) in [(256, true), (257, false)] {
      let value = String(repeating: "x", count: count)
      #expect((find(["a"], in: #"{"a":"\#(value)"}"#) == [.text(value)]) == isRead)
    }
  }

  @Test(
    "MemberSearch finds no members in a JSON text that is not an object",
    arguments: ["[]", #"["a"]"#, "1", ""])
  func noObject(text: String) {
    #expect(find(["a"], in: text) == [nil])
  }

  @Test("MemberSearch.only finds the only member of an object and reports any other member or text")
  func only() {
    for (text, result) in [
      (#"{"id":[1]}"#, .found(6..<9)), (#"{"\u0069d":1}"#, .found(11..<12)), ("{}", .missing),
      (#"{"id":1,"x":2}"#, .unexpected("x")), ("{\"\u{212A}\":1}", .unexpected("\u{212A}")),
      ("[]", .notAnObject),
    ] as [(String, MemberSearch.Only)] {
      #expect(within(text) { MemberSearch.only("id", in: $0) } == result, "\(text)")
    }
  }

  @Test("JSON with more values than the limit is refused")
  func values() throws {
    let text = #"{"a":[1,{"b":2}]}"#
    #expect(throws: Never.self) { try JSONValue(parsing: text, limits: JSONLimits(values: 5)) }
    let error = #expect(throws: JSONSyntaxError.self) {
      try JSONValue(parsing: text, limits: JSONLimits(values: 4))
    }
    #expect(error?.problem == .tooManyValues)
  }
}

@Suite("Request ids in rpc.cancel")
struct NamedIDTests {
  private func id(_ text: String) -> RequestID? { within(text) { RequestID(value: $0) } }

  @Test(
    "numbers of the same value are the same id for rpc.cancel, in any spelling",
    arguments: [
      ["5", "5.0", "5.00", "0.5e1", "50e-1", "500E-02"], ["0", "-0", "0.0", "-0e9", "0e-5"],
      ["100", "1e2", "1E+2", "100.0"], ["-2.5", "-25e-1", "-0.25e1"],
      ["12345678901234567890123", "1234567890123456789012.3e1"], ["1e400", "10e399"],
    ])
  func same(spellings: [String]) throws {
    for one in spellings {
      for other in spellings {
        #expect(try #require(id(one)).hasValue(of: #require(id(other))), "\(one) \(other)")
      }
    }
  }

  @Test(
    "different values are different ids for rpc.cancel",
    arguments: [
      ("5", "50"), ("5", "-5"), ("5", "0.5"), ("9007199254740993", "9007199254740992"),
      ("1e400", "1e401"), ("0", "null"), ("5", #""5""#), ("0", #""""#), (#""a""#, #""b""#),
      ("1e99999999999999999999", "1e99999999999999999998"),
    ])
  func different(one: String, other: String) throws {
    #expect(try !#require(id(one)).hasValue(of: #require(id(other))))
    #expect(try !#require(id(other)).hasValue(of: #require(id(one))))
  }

  @Test("a value of a wrong type or of more than 256 bytes is not an id for rpc.cancel")
  func none() {
    for text in ["true", "[]", "{}", "", "\"\(String(repeating: "x", count: 255))\""] {
      #expect(id(text) == nil, "\(text)")
    }
    #expect(id("\"\(String(repeating: "x", count: 254))\"") != nil)
  }
}
