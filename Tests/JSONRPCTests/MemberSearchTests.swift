import Testing

@testable import JSONRPC

@Suite("A few members of an object, found in its text")
struct MemberSearchTests {
  private func find(_ names: [StaticString], in text: String) -> [MemberSearch.Found?] {
    within(text) { MemberSearch.find(names, in: $0) }
  }

  @Test("strings are found with their escapes resolved, other values by their place")
  func found() {
    let text = #" {"x":[{"a":"no"}], "\u0061" : "w\u006frk","b":{"a":1},"c":"" } "#
    #expect(
      find(["a", "b", "c", "d"], in: text) == [.text("work"), .other(47..<54), .text(""), nil])
  }

  @Test("names are compared by their bytes")
  func bytes() {
    #expect(find(["K", "e\u{301}"], in: "{\"\u{212A}\":\"x\",\"\u{e9}\":\"x\"}") == [nil, nil])
  }

  @Test("a string of more than 256 bytes is not read")
  func long() {
    for (count, isRead) in [(256, true), (257, false)] {
      let value = String(repeating: "x", count: count)
      #expect((find(["a"], in: #"{"a":"\#(value)"}"#) == [.text(value)]) == isRead)
    }
  }

  @Test("a text that is no object has none", arguments: ["[]", #"["a"]"#, "1", ""])
  func noObject(text: String) {
    #expect(find(["a"], in: text) == [nil])
  }

  @Test("an object of one member is told from others")
  func only() {
    for (text, result) in [
      (#"{"id":[1]}"#, .found(6..<9)), (#"{"\u0069d":1}"#, .found(11..<12)), ("{}", .missing),
      (#"{"id":1,"x":2}"#, .stray("x")), ("{\"\u{212A}\":1}", .stray("\u{212A}")),
      ("[]", .notAnObject),
    ] as [(String, MemberSearch.Only)] {
      #expect(within(text) { MemberSearch.only("id", in: $0) } == result, "\(text)")
    }
  }

  @Test("values beyond a limit are not kept")
  func values() throws {
    let text = #"{"a":[1,{"b":2}]}"#
    #expect(throws: Never.self) { try JSONValue(parsing: text, limits: JSONLimits(values: 5)) }
    let error = #expect(throws: JSONSyntaxError.self) {
      try JSONValue(parsing: text, limits: JSONLimits(values: 4))
    }
    #expect(error?.problem == .tooManyValues)
  }
}
