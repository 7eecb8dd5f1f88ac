import Testing

@testable import UsherSandbox

@Suite("Form parsing and JSON overlays of the sandbox")
struct FormTests {
  @Test("a form field without a value counts as absent, and a repeated form field is recorded")
  func emptyAndRepeated() throws {
    let form = try Form(parsing: Array("a=&b=1&b=2".utf8))
    #expect(form["a"] == nil)
    #expect(form.repeated == ["b"])
  }

  @Test("a form that is not UTF-8 or has too many fields is refused")
  func refused() {
    #expect(throws: Form.Failure.notUTF8) { try Form(parsing: Array("a=%FF".utf8)) }
    let endless = Array(String(repeating: "a=b&", count: Form.limit + 1).utf8)
    #expect(throws: Form.Failure.tooManyFields) { try Form(parsing: endless) }
  }

  @Test(
    "strict form decoding refuses reserved characters, broken escapes and bytes that are not UTF-8",
    arguments: ["a:b", "a/b", "%", "%2", "%2G", "%FF", "ä"])
  func notStrict(_ text: String) {
    #expect(PercentEncoding.decodedStrictForm(text.utf8) == nil)
  }

  @Test("a JSON overlay adds or replaces members of an object, and null removes a member")
  func overlay() {
    let members: [String: JSON] = ["a": 1, "b": "x"]
    #expect(members.applying(overrides: ["a": .null, "c": [true]]) == ["b": "x", "c": [true]])
  }
}
