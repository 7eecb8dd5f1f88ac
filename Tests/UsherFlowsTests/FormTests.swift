import JSONRPC
import Testing
import UsherCore
import UsherFlows

@Suite("Encodings")
struct EncodingTests {
  @Test("the challenge of RFC 7636 appendix B")
  func challenge() {
    let verifier = Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    #expect(PKCE.challenge(of: verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }

  @Test("a verifier has 43 characters of its alphabet")
  func verifier() {
    var moment = moment()
    let verifier = PKCE.verifier(&moment).revealed()
    #expect(verifier.count == 43)
    #expect(Base64URL.decode(verifier)?.count == 32)
  }

  @Test("a form is encoded as the WHATWG URL standard has it")
  func form() {
    let fields = [("a b", "1&2=3"), ("ü", "~*-._+%"), ("empty", "")]
    #expect(
      FormEncoding.encode(fields) == "a+b=1%262%3D3&%C3%BC=%7E*-._%2B%25&empty=")
  }

  @Test("a form comes back as it went")
  func formRoundTrip() throws {
    let text = String(decoding: UInt8.min...UInt8.max, as: UTF8.self)
    let fields = try #require(FormEncoding.decode(FormEncoding.encode([("x", text)])))
    #expect(fields.map(\.value) == [text])
  }

  @Test(
    "a broken form is not read",
    arguments: ["a=%", "a=%2", "a=%zz", "a=%C3", "a=%ff", "%=1"])
  func brokenForm(text: String) {
    #expect(FormEncoding.decode(text) == nil)
  }

  @Test("a form without values has empty ones")
  func bareNames() {
    #expect(FormEncoding.decode("&a&&b=&=c&")?.map { "\($0)|\($1)" } == ["a|", "b|", "|c"])
  }

  @Test("base64url has no padding and the other two letters")
  func base64URL() {
    #expect(Base64URL.encode([0xFB, 0xFF, 0xFE]) == "-__-")
    #expect(Base64URL.encode([0]) == "AA")
    #expect(Base64URL.decode("-__-") == [0xFB, 0xFF, 0xFE])
    #expect(Base64URL.decode("") == [])
  }

  @Test(
    "base64url refuses what it does not write",
    arguments: ["AA==", "AB", "A", "+//+", "A A", "AA\n", "ü"])
  func base64URLStrict(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }
}

@Suite("A provider's text")
struct ProviderTextTests {
  @Test("loses what could act on a terminal or turn the text round")
  func control() {
    #expect(ProviderText.clean("\u{1B}[31mred\u{7}\u{202E}\u{0}") == "[31mred")
    #expect(ProviderText.clean(" a\r\nb\u{2028}c\t") == "a  b c")
  }

  @Test("is cut")
  func cut() {
    #expect(ProviderText.clean("abcdef", limit: 4) == "abc…")
    #expect(ProviderText.clean("abcd", limit: 4) == "abcd")
  }

  @Test("keeps what people write")
  func people() {
    #expect(ProviderText.clean("Zoë 李 می‌خواهم 👩‍🔬") == "Zoë 李 می‌خواهم 👩‍🔬")
  }

  @Test("is cleaned inside of JSON, to a depth")
  func json() {
    let value: JSONValue = ["a": "x\u{0}y", "b": [1, true, nil, "z\u{9B}"], "c": [[["deep"]]]]
    #expect(
      ProviderText.clean(value) == ["a": "xy", "b": [1, true, nil, "z"], "c": [[]]])
  }
}
