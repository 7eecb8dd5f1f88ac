import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Invalid ID tokens and changed signing keys", .mayBlock, .timeLimit(.minutes(10))
)
struct BadIDTokenTests {
  let fixture: OIDCFixture

  init() throws { fixture = try OIDCFixture() }

  struct Forgery: Sendable, CustomTestStringConvertible {
    var testDescription: String { name }
    let name: String
    let settings: JSONValue
    /// A word that the failure's message must contain.
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

  /// Some forgeries of each kind: signature, algorithm, claims. The tables of `SigningKeyTests` and
  /// `IDTokenClaimsTests` in UsherFlowsTests have the others.
  static let forgeries = [
    Forgery("a bad signature", ["badSignature": true], says: "signature"),
    Forgery("alg none", ["alg": "none"], says: "alg none"),
    Forgery("the public key as HMAC secret", ["alg": "HS256-with-public-key"], says: "alg HS256"),
    Forgery(
      "RS256 in the header over ES256", ["alg": "ES256", "header": ["alg": "RS256"]], says: "key"),
    Forgery("another audience", Forgery.claim("aud", "other"), says: "aud"),
    Forgery("another nonce", Forgery.claim("nonce", "other"), says: "nonce"),
    Forgery("expired", Forgery.claim("exp", .integer(now - 3600)), says: "exp"),
    Forgery("the hash of another access token", Forgery.claim("at_hash", "AAAA"), says: "at_hash"),
  ]

  @Test(
    "a sign-in with a forged ID token fails, stores no account and revokes the tokens",
    arguments: forgeries)
  func refused(_ forgery: Forgery) throws {
    try fixture.set(["idToken": forgery.settings])
    let end = try fixture.attempt()
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "provider_protocol_error")
    #expect(end.failure["retryable"] == false)
    let message = try #require(end.failure["message"]?.stringValue)
    #expect(message.contains(forgery.word))
    #expect(!end.hasSecret)
    #expect(end["result"] == .null)
    #expect(try fixture.accounts.isEmpty)
    try eventually("the daemon revokes the grant") { try fixture.revocations > 0 }
    #expect(try fixture.sandbox.requests("userinfo") == 0)
    #expect(!fixture.daemon.log.contains("eyJ"))
  }

  @Test("a sign-in with an ID token that is signed with ES256 succeeds")
  func otherAlgorithm() throws {
    try fixture.set(["idToken": ["alg": "ES256"]])
    #expect(try fixture.attempt()["status"] == "succeeded")
  }

  @Test(
    "new signing keys are fetched without a restart, and an ID token of a withdrawn key is refused")
  func rotation() throws {
    try fixture.app.signIn()
    try fixture.sandbox.control("POST", "keys/rotate", ["removeOld": true])
    for _ in 1...2 { try fixture.app.signIn() }
    #expect(try fixture.sandbox.requests("jwks") == 2)
    try fixture.set(["idToken": ["kid": "rsa-1"]])
    #expect(try fixture.attempt().failure["reason"] == "provider_protocol_error")
  }
}
