import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "ID tokens that must not be believed", .mayBlock, .timeLimit(.minutes(10))
)
struct BadIDTokenTests {
  let scene: Scene

  init() throws { scene = try Scene() }

  struct Forgery: Sendable, CustomTestStringConvertible {
    var testDescription: String { name }
    let name: String
    let settings: JSONValue
    /// What the failure's message must speak of.
    let word: String

    init(_ name: String, _ settings: JSONValue, says word: String) {
      self.name = name
      self.settings = settings
      self.word = word
    }

    static func claim(_ name: String, _ value: JSONValue) -> JSONValue {
      ["claims": .object([name: value])]
    }
  }

  private static let now = Int64(Date().timeIntervalSince1970)

  static let forgeries = [
    Forgery("a bad signature", ["badSignature": true], says: "signature"),
    Forgery("alg none", ["alg": "none"], says: "alg none"),
    Forgery("the public key as HMAC secret", ["alg": "HS256-with-public-key"], says: "alg HS256"),
    Forgery(
      "RS256 in the header over ES256", ["alg": "ES256", "header": ["alg": "RS256"]], says: "key"),
    Forgery("another issuer", Forgery.claim("iss", "https://evil.example.com"), says: "iss"),
    Forgery("no issuer", Forgery.claim("iss", nil), says: "iss"),
    Forgery("another audience", Forgery.claim("aud", "other"), says: "aud"),
    Forgery("no audience", Forgery.claim("aud", nil), says: "aud"),
    Forgery(
      "an audience more", ["claims": ["aud": ["usher", "other"], "azp": "usher"]], says: "aud"),
    Forgery(
      "several audiences without azp", Forgery.claim("aud", ["usher", "other"]), says: "azp"),
    Forgery("another azp", Forgery.claim("azp", "other"), says: "azp"),
    Forgery("another nonce", Forgery.claim("nonce", "other"), says: "nonce"),
    Forgery("no nonce", Forgery.claim("nonce", nil), says: "nonce"),
    Forgery("expired", Forgery.claim("exp", .integer(now - 3600)), says: "exp"),
    Forgery("no expiry", Forgery.claim("exp", nil), says: "exp"),
    Forgery("an expiry that is a string", Forgery.claim("exp", "9999999999"), says: "exp"),
    Forgery("issued in the future", Forgery.claim("iat", .integer(now + 3600)), says: "iat"),
    Forgery("issued long ago", Forgery.claim("iat", .integer(now - 200_000)), says: "iat"),
    Forgery("not yet valid", Forgery.claim("nbf", .integer(now + 3600)), says: "nbf"),
    Forgery("no sub", Forgery.claim("sub", nil), says: "sub"),
    Forgery("an empty sub", Forgery.claim("sub", ""), says: "sub"),
    Forgery("the hash of another access token", Forgery.claim("at_hash", "AAAA"), says: "at_hash"),
    Forgery("no ID token", ["omit": true], says: "no ID token"),
    Forgery("another type of token", ["typ": "at+jwt"], says: "typ"),
  ]

  @Test("the sign-in fails, and the tokens are taken back", arguments: forgeries)
  func refused(_ forgery: Forgery) throws {
    try scene.set(["idToken": forgery.settings])
    let end = try scene.attempt()
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "provider_protocol_error")
    #expect(end.failure["retryable"] == false)
    let message = try #require(end.failure["message"]?.stringValue)
    #expect(message.contains(forgery.word))
    #expect(!end.hasSecret)
    #expect(end["result"] == .null)
    #expect(try scene.accounts.isEmpty)
    try eventually("the grant is revoked") { try scene.revocations > 0 }
    #expect(try scene.sandbox.requests("userinfo") == 0)
    #expect(!scene.daemon.log.contains("eyJ"))
  }

  @Test("an ID token signed with ES256 is as good as one with RS256")
  func otherAlgorithm() throws {
    try scene.set(["idToken": ["alg": "ES256"]])
    #expect(try scene.attempt()["status"] == "succeeded")
  }

  @Test("a clock that is a little off is forgiven, as configured")
  func skew() throws {
    let now = Int64(Date().timeIntervalSince1970)
    try scene.set(["idToken": ["claims": ["iat": .integer(now + 40), "exp": .integer(now - 40)]]])
    #expect(try scene.attempt()["status"] == "succeeded")
  }
}

@Suite("keys that ID tokens are signed with", .mayBlock, .timeLimit(.minutes(10)))
struct SigningKeyTests {
  let scene: Scene

  init() throws { scene = try Scene() }

  @Test("the key set is fetched once, and unknown kids cost one more fetch a minute")
  func unknownKey() throws {
    try scene.app.signIn()
    try scene.app.signIn()
    #expect(try scene.sandbox.requests("jwks") == 1)
    try scene.set(["idToken": ["kid": "nobody's"]])
    for _ in 1...2 {
      let end = try scene.attempt()
      #expect(end["status"] == "failed")
      #expect(end.failure["reason"] == "provider_protocol_error")
      #expect(try scene.sandbox.requests("jwks") == 2)
    }
    try eventually("the grants are revoked") { try scene.revocations >= 2 }
    try scene.mend()
    try scene.app.signIn()
    #expect(try scene.sandbox.requests("jwks") == 2)
  }

  @Test("new keys of the provider are found without a restart", arguments: [false, true])
  func rotation(_ removeOld: Bool) throws {
    try scene.app.signIn()
    try scene.sandbox.control("POST", "keys/rotate", ["removeOld": .bool(removeOld)])
    try scene.app.signIn()
    #expect(try scene.sandbox.requests("jwks") == 2)
    try scene.app.signIn()
    #expect(try scene.sandbox.requests("jwks") == 2)
  }

  @Test("a key that the provider withdrew signs nothing any more")
  func withdrawnKey() throws {
    try scene.app.signIn()
    try scene.sandbox.control("POST", "keys/rotate", ["removeOld": true])
    try scene.app.signIn()
    try scene.set(["idToken": ["kid": "rsa-1"]])
    #expect(try scene.attempt().failure["reason"] == "provider_protocol_error")
  }
}
