import Testing

@testable import UsherSandbox

@Suite("Forms, JSON and base64")
struct FormTests {
  @Test("a form's plus is a blank, and percent signs are bytes")
  func decoding() throws {
    let form = try Form(parsing: Array("a=1+2%2B3&b=%C3%A4&c=100%&d".utf8))
    #expect(form["a"] == "1 2+3")
    #expect(form["b"] == "ä")
    #expect(form["c"] == "100%")
    #expect(form["d"] == nil)
    #expect(form.has("d"))
  }

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

  @Test("in a path a plus is a plus")
  func segments() {
    #expect(PercentEncoding.decodedSegment("a+b%20c%2Fd".utf8) == "a+b c/d")
    #expect(PercentEncoding.decodedSegment("%FF".utf8) == nil)
  }

  @Test("strict decoding takes what a form encoder writes")
  func strict() {
    #expect(
      PercentEncoding.decodedStrictForm("s3cret%3A%2B%2F%25*-._~+".utf8) == "s3cret:+/%*-._~ ")
    #expect(PercentEncoding.decodedStrictForm("".utf8) == "")
  }

  @Test(
    "strict decoding forgives nothing", arguments: ["a:b", "a/b", "%", "%2", "%2G", "%FF", "ä"])
  func notStrict(_ text: String) {
    #expect(PercentEncoding.decodedStrictForm(text.utf8) == nil)
  }

  @Test("percent-encoding leaves only the unreserved characters")
  func encoding() {
    #expect(PercentEncoding.encoded("aZ9-._~ä +&") == "aZ9-._~%C3%A4%20%2B%26")
  }

  @Test("base64 in its URL form has no padding")
  func base64() {
    #expect(Base64.url([0xFB, 0xFF, 0xFE, 0x00]) == "-__-AA")
    #expect(Base64.decoded("YTpi") == Array("a:b".utf8))
    #expect(Base64.decoded("%%") == nil)
  }

  @Test("an override replaces a member, and null removes it")
  func overlay() {
    let members: [String: JSON] = ["a": 1, "b": "x"]
    #expect(members.overlaid(with: ["a": .null, "c": [true]]) == ["b": "x", "c": [true]])
  }

  @Test("JSON keeps whole numbers whole and null apart from absence")
  func json() throws {
    let json = try JSON(parsing: Array(#"{"a":[1,1.5,true,null,"x"],"b":{}}"#.utf8))
    #expect(json == ["a": [1, .number(1.5), true, .null, "x"], "b": [:]])
    #expect(json.encoded() == Array(#"{"a":[1,1.5,true,null,"x"],"b":{}}"#.utf8))
  }
}
