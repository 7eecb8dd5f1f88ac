import Testing

@testable import JSONRPC

@Suite("Positions of an object's members")
struct ObjectMembersTests {
  private func member(_ name: String, of text: String) throws -> String? {
    let bytes = Array(text.utf8)
    return try ObjectMembers(of: bytes)[name].map { String(decoding: bytes[$0], as: UTF8.self) }
  }

  @Test("a member's value is found with its quotes or brackets and without surrounding space")
  func values() throws {
    let text = #" {"a" : "x", "b":{"a":[1, 2]} ,"c":  -1.5e3,"\u0064":null, "":true } "#
    #expect(try member("a", of: text) == #""x""#)
    #expect(try member("b", of: text) == #"{"a":[1, 2]}"#)
    #expect(try member("c", of: text) == "-1.5e3")
    #expect(try member("d", of: text) == "null", "names are compared unescaped")
    #expect(try member("", of: text) == "true")
    #expect(try member("e", of: text) == nil)
  }

  @Test("the members of a nested JSON object are found by its range")
  func within() throws {
    let bytes = Array(#"{"outer":{"inner":"x"},"inner":"y"}"#.utf8)
    let place = try #require(try ObjectMembers(of: bytes)["outer"])
    let inner = try #require(try ObjectMembers(of: bytes, at: place)["inner"])
    #expect(String(decoding: bytes[inner], as: UTF8.self) == #""x""#)
  }

  @Test(
    "a text that is not a valid JSON object has no member positions",
    arguments: ["", "[]", "1", "{", #"{"a":1} x"#, #"{"a":1,"a":2}"#, #"{"a"}"#])
  func refused(_ text: String) {
    #expect(throws: JSONSyntaxError.self) { try ObjectMembers(of: Array(text.utf8)) }
  }
}
