import Foundation
import JSONRPC
import Testing
import UsherCore

@testable import UsherFlows

@Suite("Removal of echoed secrets from provider errors")
struct EchoTests {
  private func request(_ body: String, _ authorization: String? = nil) -> HTTPRequest {
    HTTPRequest(
      method: .post, url: "https://id.example.com/token",
      headers: authorization.map { [.init("Authorization", Secret($0))] } ?? [],
      body: Secret(body))
  }

  private func said(_ text: String, to request: HTTPRequest, status: Int = 400) -> String? {
    let answer = reply(
      ["error": "invalid_grant", "error_description": .string(text)], status: status)
    return answer.withoutEchoes(of: request).jsonObject?["error_description"]?.stringValue
  }

  @Test("an echoed authorization code or PKCE verifier is removed from an error description")
  func form() {
    let sent = request("grant_type=authorization_code&code=SplxlOBe%2F1&code_verifier=dBjftJeZ4CVP")
    #expect(said("code SplxlOBe/1 is unknown", to: sent) == "code … is unknown")
    #expect(said("dBjftJeZ4CVP is wrong", to: sent) == "… is wrong")
    #expect(said("no authorization_code today", to: sent) == "no authorization_code today")
  }

  @Test("an echoed client secret or Bearer token is removed, plain, percent-encoded or in Base64")
  func header() {
    // Base64 of usher:s3cret%2Fwith%2Bodd
    let sent = request("grant_type=refresh_token", "Basic dXNoZXI6czNjcmV0JTJGd2l0aCUyQm9kZA==")
    #expect(said("s3cret/with+odd is wrong", to: sent) == "… is wrong")
    #expect(said("s3cret%2Fwith%2Bodd is wrong", to: sent) == "… is wrong")
    #expect(said("got dXNoZXI6czNjcmV0JTJGd2l0aCUyQm9kZA==", to: sent) == "got …")
    #expect(said("no mF_9.B5f-4.1JqM", to: request("", "Bearer mF_9.B5f-4.1JqM")) == "no …")
  }

  @Test("an echoed code is removed from an error that comes with HTTP status 200")
  func politely() {
    #expect(said("SplxlOBeZQ is old", to: request("code=SplxlOBeZQ"), status: 200) == "… is old")
  }

  private func request(_ header: HTTPRequest.Header) -> HTTPRequest {
    HTTPRequest(method: .get, url: "https://id.example.com/", headers: [header])
  }

  @Test(
    "an echoed header value is removed, with and without an authentication scheme",
    arguments: ["authorization", "X-Key"])
  func headers(name: String) {
    for value in ["linking-secret", "Bearer linking-secret"] {
      let sent = request(HTTPRequest.Header(name, Secret(value)))
      #expect(said("linking-secret is unknown", to: sent) == "… is unknown")
      #expect(said("\(value) is unknown", to: sent) == "… is unknown")
    }
    let words = request(HTTPRequest.Header(name, Secret("a key of words")))
    #expect(said("a key of words is unknown", to: words) == "… is unknown")
  }

  @Test("an error description keeps the value of a header that is declared public")
  func publicHeader() {
    let sent = request(HTTPRequest.Header("x-merchant-id", public: "merchant-1"))
    #expect(said("merchant-1 is unknown", to: sent) == "merchant-1 is unknown")
  }

  @Test("a token reply without an error stays unchanged, even if it repeats the sent refresh token")
  func granted() {
    let answer = reply(["refresh_token": "tGzv3JOkF0XG5Qx2"])
    #expect(answer.withoutEchoes(of: request("refresh_token=tGzv3JOkF0XG5Qx2")) == answer)
  }

  @Test("an error description keeps words that equal a short value of the request")
  func short() {
    #expect(said("a bad code", to: request("code=a")) == "a bad code")
    #expect(said("refused for today", to: request("code=refused")) == "refused for today")
  }

  @Test("an error description that repeats a six-digit code is dropped as a whole")
  func sixDigits() {
    let sent = request("code=739146")
    #expect(said("code 739146 is wrong", to: sent) == "…")
    #expect(said("code 739 146 is wrong", to: sent) == "…")
    #expect(said("code 739147 is wrong", to: sent) == "code 739147 is wrong")
  }

  @Test(
    "an echoed refresh token is removed in every spelling from error and error_description",
    arguments: spelled)
  func spellings(text: String, shown: String) {
    let sent = request(FormEncoding.encode([("refresh_token", Self.token)]))
    let answer = reply(
      ["error": .string(text), "error_description": .string("bad: " + text)], status: 400)
    let told = answer.withoutEchoes(of: sent).jsonObject
    #expect(told?["error"]?.stringValue == shown)
    let isDropped = shown == "…" && told?["error_description"]?.stringValue == "…"
    #expect(isDropped || told?["error_description"]?.stringValue == "bad: " + shown)
  }

  @Test(
    "an echoed Bearer token is removed if JSON escapes its characters",
    arguments: ["\\u%04X", "\\u%04x"])
  func unicodeEscapes(format: String) {
    let escaped = Self.token.utf16.map { unit in
      let isPlain = (0x30...0x39).contains(unit) || (0x41...0x7A).contains(unit)
      return isPlain ? String(UnicodeScalar(UInt8(unit))) : String(format: format, unit)
    }.joined()
    let body = #"{"error":"\#(escaped)","error_description":"the token \#(escaped) is bad"}"#
    let answer = HTTPReply(status: 400, body: Array(body.utf8))
    let told = answer.withoutEchoes(of: request("", "Bearer \(Self.token)")).jsonObject
    #expect(told == ["error": "…", "error_description": "the token … is bad"])
  }

  @Test(
    "an error description with the refresh token in Base64, Base32 or hexadecimal is dropped",
    arguments: encoded)
  func packed(text: String) {
    let sent = request(FormEncoding.encode([("refresh_token", Self.token)]))
    #expect(said("bad: \(text).", to: sent) == "…")
  }

  @Test("an error description keeps long words, trace ids and Base64 text that contain no secret")
  func otherRuns() {
    let sent = request(FormEncoding.encode([("refresh_token", Self.token)]))
    for text in [
      "internationalisation is not supported", "trace 4bf92f3577b34da6a3ce929d0e0e4736 failed",
      "see eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0",
    ] {
      #expect(said(text, to: sent) == text)
    }
  }

  @Test(
    "an echoed code is removed from member names, from numbers and from bodies that are not JSON")
  func places() {
    let sent = request("code=1234567890")
    let told = reply(["error": 1_234_567_890, "errors": ["1234567890": [1]]], status: 400)
      .withoutEchoes(of: sent).jsonObject
    #expect(told == ["error": "…", "errors": ["…": [1]]])
    let page = HTTPReply(status: 502, body: Array("<p>code=1234567890</p>".utf8))
    #expect(page.withoutEchoes(of: sent).body == Array("<p>code=…</p>".utf8))
  }

  @Test(
    "the time to find a secret does not grow with the product of the lengths",
    .timeLimit(.minutes(1)))
  func repetitive() {
    // Each place of the text equals the beginning of the secret, which a hostile provider chooses.
    let secret = String(repeating: "a", count: 50_000) + "b"
    let text = String(repeating: "a", count: 200_000)
    let sent = request(FormEncoding.encode([("refresh_token", secret)]))
    #expect(said(text, to: sent) == text)
    #expect(said(text + "b", to: sent) == String(repeating: "a", count: 150_000) + "…")
    #expect(said("aab" + secret + "c" + secret, to: sent) == "aab…c…")
  }

  private static let token = "1//0gAb+cd/EF=gh-REFRESHSECRET"

  /// The token in the encodings of RFC 4648: inside other text, at every offset, and encoded twice.
  private static let encoded: [String] = {
    let bytes = Array(token.utf8)
    let base64 = { (bytes: [UInt8]) in Data(bytes).base64EncodedString() }
    // An offset at which the Base64 of the token alone does not occur.
    let json = base64(Array(#"{"token":"\#(token)"}"#.utf8))
    let hex = bytes.map { String(format: "%02x", $0) }.joined()
    return (1...2).map { base64(Array("xx".utf8.prefix($0)) + bytes + Array("yy".utf8)) }
      + (1...3).map { String("XYZ".prefix($0)) + json }
      + [json, json.replacing("+", with: "-").replacing("/", with: "_"), base64(Array(json.utf8))]
      + [hex, hex.uppercased(), "0" + hex, base32(bytes), base32(bytes).lowercased()]
  }()

  private static func base32(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    let bits = bytes.flatMap { byte in (0..<8).map { Int(byte >> (7 - $0)) & 1 } }
    return String(
      stride(from: 0, to: bits.count, by: 5).map { start in
        digits[(0..<5).reduce(0) { $0 * 2 + (start + $1 < bits.count ? bits[start + $1] : 0) }]
      })
  }

  /// Texts that a provider may send, and the expected text after the removal.
  private static let spelled: [(String, String)] = {
    let form = FormEncoding.encode(token)
    let percent = token.utf8.map { byte in
      let isLetter = (0x61...0x7A).contains(byte | 0x20)
      return isLetter ? String(UnicodeScalar(byte)) : String(format: "%%%02x", byte)
    }.joined()
    let twice = percent.replacing("%", with: "%25")
    let deep = (0..<6).reduce(percent) { text, _ in text.replacing("%", with: "%25") }
    let (front, back) = (token.prefix(10), token.dropFirst(10))
    return [
      (token, "…"), (token.uppercased(), "…"), (form, "…"), (form.lowercased(), "…"),
      (percent, "…"), (twice, "…"), (deep, "…"),
      (#"{"refresh_token":"\#(token.replacing("/", with: "\\/"))"}"#, #"{"refresh_token":"…"}"#),
      (token.replacing("+", with: "\\u002B"), "…"),
      (token.replacing("+", with: "&#43;").replacing("=", with: "&equals;"), "…"),
      (token.replacing("+", with: "&#x2b;"), "…"),
      ("\(front)\u{1}\(back)", "…"), ("\(front)\u{200B}\(back)", "…"),
      ("\(front)\u{200D}\(back)", "…"), ("\(front)\u{FE0F}\(back)", "…"),
      ("\(front)\n\(back)", "…"), ("\(token)\u{301}", "…\u{301}"),
      ("MS8vMGdBYitjZC9FRj1naC1SRUZSRVNIU0VDUkVU", "…"),
    ]
  }()
}
