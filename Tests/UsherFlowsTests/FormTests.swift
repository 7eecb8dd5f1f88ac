import JSONRPC
import Testing
import UsherCore
import UsherFlows

@Suite("Encodings: PKCE, forms and Base64url")
struct EncodingTests {
  @Test("the PKCE challenge of the verifier in RFC 7636 appendix B is the challenge given there")
  func challenge() {
    let verifier = Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    #expect(PKCE.challenge(of: verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }

  @Test("a PKCE verifier has 43 characters of the Base64url alphabet")
  func verifier() {
    var moment = moment()
    let verifier = PKCE.verifier(&moment).revealed()
    #expect(verifier.count == 43)
    #expect(Base64URL.decode(verifier)?.count == 32)
  }

  @Test("form encoding follows the WHATWG URL standard")
  func form() {
    let fields = [("a b", "1&2=3"), ("ü", "~*-._+%"), ("empty", "")]
    #expect(
      FormEncoding.encode(fields) == "a+b=1%262%3D3&%C3%BC=%7E*-._%2B%25&empty=")
  }

  @Test("a form value of every kind of byte survives encoding and decoding")
  func formRoundTrip() throws {
    let text = String(decoding: UInt8.min...UInt8.max, as: UTF8.self)
    let fields = try #require(FormEncoding.decode(FormEncoding.encode([("x", text)])))
    #expect(fields.map(\.value) == [text])
  }

  @Test(
    "form decoding refuses incomplete percent escapes and invalid UTF-8",
    arguments: ["a=%", "a=%2", "a=%zz", "a=%C3", "a=%ff", "%=1"])
  func brokenForm(text: String) {
    #expect(FormEncoding.decode(text) == nil)
  }

  @Test("form decoding skips empty pairs and reads a name without a value as an empty value")
  func bareNames() {
    #expect(FormEncoding.decode("&a&&b=&=c&")?.map { "\($0)|\($1)" } == ["a|", "b|", "|c"])
  }

  @Test("Base64url encodes without padding and uses - and _ instead of + and /")
  func base64URL() {
    #expect(Base64URL.encode([0xFB, 0xFF, 0xFE]) == "-__-")
    #expect(Base64URL.encode([0]) == "AA")
    #expect(Base64URL.decode("-__-") == [0xFB, 0xFF, 0xFE])
    #expect(Base64URL.decode("") == [])
  }

  @Test(
    "Base64url decoding refuses padding, foreign characters and non-canonical text",
    arguments: ["AA==", "AB", "A", "+//+", "A A", "AA\n", "ü"])
  func base64URLStrict(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }
}

@Suite("Cleaning of provider text")
struct ProviderTextTests {
  @Test("cleaning removes control characters and direction overrides from provider text")
  func control() {
    #expect(ProviderText.clean("\u{1B}[31mred\u{7}\u{202E}\u{0}") == "[31mred")
    #expect(ProviderText.clean(" a\r\nb\u{2028}c\t") == "a  b c")
  }

  @Test("cleaning cuts provider text at its limit and appends an ellipsis")
  func cut() {
    #expect(ProviderText.clean("abcdef", limit: 4) == "abc…")
    #expect(ProviderText.clean("abcd", limit: 4) == "abcd")
  }

  @Test(
    "cleaning keeps accents, right-to-left text with joiners and emoji sequences in provider text")
  func people() {
    #expect(ProviderText.clean("Zoë 李 می‌خواهم 👩‍🔬") == "Zoë 李 می‌خواهم 👩‍🔬")
  }

  @Test("cleaning of JSON cleans every string and drops values below the depth limit")
  func json() {
    let value: JSONValue = ["a": "x\u{0}y", "b": [1, true, nil, "z\u{9B}"], "c": [[["deep"]]]]
    #expect(
      ProviderText.clean(value) == ["a": "xy", "b": [1, true, nil, "z"], "c": [[]]])
  }
}
