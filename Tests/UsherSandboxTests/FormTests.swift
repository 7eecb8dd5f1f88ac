import Testing

@testable import UsherSandbox

@Suite("Forms and overrides")
struct FormTests {
  @Test("a field without a value counts as absent, and one that comes twice is noted")
  func emptyAndRepeated() throws {
    let form = try Form(parsing: Array("a=&b=1&b=2".utf8))
    #expect(form["a"] == nil)
    #expect(form.repeated == ["b"])
  }

  @Test("bytes that are no UTF-8 and forms without end are no forms")
  func refused() {
    #expect(throws: Form.Failure.notUTF8) { try Form(parsing: Array("a=%FF".utf8)) }
    let endless = Array(String(repeating: "a=b&", count: Form.limit + 1).utf8)
    #expect(throws: Form.Failure.tooManyFields) { try Form(parsing: endless) }
  }

  @Test(
    "strict decoding forgives nothing", arguments: ["a:b", "a/b", "%", "%2", "%2G", "%FF", "ä"])
  func notStrict(_ text: String) {
    #expect(PercentEncoding.decodedStrictForm(text.utf8) == nil)
  }

  @Test("an override replaces a member, and null removes it")
  func overlay() {
    let members: [String: JSON] = ["a": 1, "b": "x"]
    #expect(members.overlaid(with: ["a": .null, "c": [true]]) == ["b": "x", "c": [true]])
  }
}
