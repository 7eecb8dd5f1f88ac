import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// The message names the rule that a provider's answer breaks and the value that breaks it.
@Suite("Messages about violations of OpenID Connect")
struct BrokenRuleTests {
  /// Returns the failure message of an OIDC authorize flow whose ID token has these claims.
  private func message(_ changes: [String: JSONValue?]) throws -> String {
    var driven = try DrivenAuthorize()
    driven.toBrowser()
    let nonce = driven.query["nonce"]
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    let call = try #require(driven.calls.first)
    driven.receive(.called(call, .reply(tokenReply())))
    let payload = claims(nonce: nonce, changes).encoded()
    driven.receive(.idTokenVerified(.genuine(payload: payload)))
    return driven.failure?.message ?? ""
  }

  @Test(
    "the message about a refused ID token names the expected and the found value",
    arguments: [
      (["iss": "https://evil.example.com"], [issuer, "https://evil.example.com"]),
      (["iss": nil], [issuer, "nothing"]), (["aud": "other"], ["usher", "other"]),
      (["aud": ["other", "usher"], "azp": "other"], ["usher", "azp", "other"]),
      (["exp": 1_799_999_000], ["1799999000", "1800000000"]),
      (["iat": 1_800_009_000], ["1800009000", "1800000000"]),
    ] as [([String: JSONValue?], [String])])
  func idToken(changes: [String: JSONValue?], words: [String]) throws {
    let message = try message(changes)
    for word in words { #expect(message.contains(word), "\(message)") }
  }

  @Test("the message about a refused ID token repeats neither the nonce nor a hash")
  func secrets() throws {
    for name in ["nonce", "at_hash", "c_hash", "s_hash"] {
      let message = try message([name: "found-secret"])
      #expect(message.contains(name) && !message.contains("found-secret"), "\(message)")
    }
  }

  @Test("the message about a refused issuer has no control characters and fewer than 1000 bytes")
  func printable() throws {
    let message = try message([
      "iss": .string("https://evil\u{1B}[31m\u{202E}" + String(repeating: "x", count: 5000))
    ])
    #expect(!message.contains("\u{1B}") && !message.contains("\u{202E}"))
    #expect(message.utf8.count < 1000)
  }

  @Test("the message about a refused signing algorithm names that algorithm and the accepted ones")
  func algorithm() {
    let key = SigningKey(
      for: signed(["alg": "HS256", "kid": "k1"]), in: ["keys": []],
      .accepted(by: metadata { $0.idTokenAlgorithms = ["ES256", "RS256"] }))
    guard case .refused(let message) = key else {
      Issue.record("the ID token is not refused")
      return
    }
    for word in ["HS256", "ES256, RS256"] { #expect(message.contains(word), "\(message)") }
  }

  @Test("the message about a redirect from another issuer names both issuers")
  func redirect() throws {
    var driven = try DrivenAuthorize()
    driven.toBrowser()
    driven.receive(
      .redirected(AuthorizationResponse(code: Secret("c"), iss: "https://evil.example.com")))
    let message = driven.failure?.message ?? ""
    for word in [issuer, "https://evil.example.com"] {
      #expect(message.contains(word), "\(message)")
    }
  }

  @Test("the message about metadata of another issuer names both issuers")
  func discovery() throws {
    let document: JSONValue = ["issuer": "https://evil.example.com"]
    guard
      case .unusable(let message) = OIDCMetadata.read(
        documents: [document], settings: try settings())
    else {
      Issue.record("the metadata is accepted")
      return
    }
    for word in [issuer, "https://evil.example.com"] {
      #expect(message.contains(word), "\(message)")
    }
  }
}
