import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// ID tokens and userinfo answers that are signed and encrypted as the operator has configured.
@Suite("Signed and encrypted answers about the user", .mayBlock, .timeLimit(.minutes(10)))
struct ProtectionTests {
  private static let secret = "s3cret:with/odd+chars"

  let fixture: OIDCFixture
  private let clock = MovableClock()
  private let admin: RawClient

  /// Providers of one issuer, each with other settings.
  init() throws {
    fixture = try OIDCFixture(clock) { sandbox in
      [
        ("secret", #"client_credential = "work-secret""#),
        (
          "mac",
          """
          client_credential = "work-secret"
          id_token_signed_response_alg = "HS256"
          userinfo_signed_response_alg = "HS256"
          """
        ), ("fixed", #"id_token_signed_response_alg = "ES256""#),
        ("signed", #"userinfo_signed_response_alg = "RS256""#),
        (
          "rsa",
          """
          id_token_encrypted_response_alg = "RSA-OAEP-256"
          userinfo_encrypted_response_alg = "RSA-OAEP-256"
          decryption_credential = "rsa-key"
          """
        ),
        ("direct", Self.elliptic("ECDH-ES")), ("wrapped", Self.elliptic("ECDH-ES+A256KW")),
      ].map { name, more in
        """
        [[provider]]
        name = "\(name)"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        client_id = "\(more.contains("work-secret") ? "usher-confidential" : "usher")"
        \(more)

        """
      }.joined()
    }
    admin = try fixture.daemon.admin()
    _ = try admin.call("credential.set", ["name": "work-secret", "value": .string(Self.secret)])
  }

  private static func elliptic(_ algorithm: String) -> String {
    """
    id_token_encrypted_response_alg = "\(algorithm)"
    userinfo_encrypted_response_alg = "\(algorithm)"
    decryption_credential = "ec-key"
    """
  }

  /// Signs in at a provider of which the sandbox behaves so, and returns the flow at its end.
  private func attempt(_ provider: String, _ settings: JSONValue) throws -> JSONValue {
    try fixture.set(settings)
    let flow = try fixture.app.startFlow(provider)
    try Person.signIn(at: flow.url)
    let end = try fixture.app.finished(flow)
    #expect(!end.hasSecret)
    return end
  }

  private func expectRefusal(
    _ provider: String, _ settings: JSONValue, says words: String...
  ) throws {
    let end = try attempt(provider, settings)
    #expect(end["status"] == "failed", "\(provider) \(settings.text)")
    #expect(end.failure["reason"] == "provider_protocol_error")
    let message = end.failure["message"]?.stringValue ?? ""
    for word in words { #expect(message.contains(word), "\(message)") }
  }

  private func profile(_ end: JSONValue) throws -> JSONValue {
    #expect(end["status"] == "succeeded", "\(end.text)")
    let account = end["result"]?["account"] ?? .null
    return try fixture.app.call("account.get", ["account": account])["account"]?["profile"] ?? .null
  }

  /// Makes the key of a provider, and registers it at the sandbox.
  @discardableResult
  private func register(_ provider: String) throws -> JSONValue {
    let keys = try admin.call("provider.jwks", ["provider": .string(provider), "create": true])
    try fixture.set(["clientKeys": ["usher": keys]])
    return keys
  }

  /// Returns the RSA key of the tests of UsherFlows.
  private static func rsaKey() throws -> JSONValue {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = tests.appending(path: "UsherFlowsTests/Fixtures/EncryptedTokens.json")
    let vectors = try JSONValue(parsing: [UInt8](Data(contentsOf: file)))
    return try #require(vectors["keys"]?["RSA"])
  }

  // MARK: Signatures

  @Test("an ID token by the client secret is accepted only where HS256 is configured")
  func clientSecret() throws {
    let byHMAC: JSONValue = ["idToken": ["alg": "HS256"], "userinfoToken": ["alg": "HS256"]]
    #expect(try attempt("mac", byHMAC)["status"] == "succeeded")
    try fixture.mend()
    try expectRefusal(
      "secret", ["idToken": ["alg": "HS256"]], says: "alg HS256", "id_token_signed_response_alg")
    try fixture.mend()
    // The configured algorithm is the only one, whatever the header says.
    try expectRefusal("mac", [:], says: "alg RS256", "expected HS256")
    for forged in ["HS256-with-public-key", "none"] as [JSONValue] {
      try fixture.mend()
      try expectRefusal(
        "mac", ["idToken": ["alg": forged]], says: forged == "none" ? "alg none" : "signature")
    }
    try fixture.mend()
    try expectRefusal(
      "mac", ["idToken": ["alg": "ES256", "header": ["alg": "HS256"]]], says: "signature")
    try expectRefusal(
      "mac", ["idToken": ["alg": "HS256", "header": [:], "badSignature": true]], says: "signature")
  }

  @Test("an ID token by the client secret is renewed and verified by a refresh")
  func clientSecretRefresh() throws {
    let all: JSONValue = ["idToken": ["alg": "HS256"], "userinfoToken": ["alg": "HS256"]]
    #expect(try attempt("mac", all)["status"] == "succeeded")
    let asked: JSONValue = ["provider": "mac", "field": "idToken"]
    let first = try fixture.token(asked)
    try clock.advance(by: 301)
    #expect(try fixture.token(asked)["idToken"] != first["idToken"])
    try fixture.set(["idToken": ["alg": "HS256-with-public-key"]])
    try clock.advance(by: 301)
    let error = try fixture.app.error(of: "token.get", asked)
    #expect(error["message"]?.stringValue?.contains("signature") == true, "\(error.text)")
  }

  @Test("a configured signature algorithm excludes the others that the provider offers")
  func fixedAlgorithm() throws {
    try expectRefusal("fixed", [:], says: "alg RS256", "expected ES256")
    #expect(try attempt("fixed", ["idToken": ["alg": "ES256"]])["status"] == "succeeded")
  }

  @Test(
    "an algorithm that usherd does not know is refused by its name, with what to configure",
    arguments: ["ES256K", "Ed448", "RS1"])
  func unknownAlgorithm(name: String) throws {
    try expectRefusal(
      "demo", ["idToken": ["header": ["alg": .string(name)]]], says: "alg \(name)",
      "id_token_signed_response_alg")
  }

  // MARK: Userinfo

  @Test("a signed userinfo answer is verified and read")
  func userinfo() throws {
    let settings: JSONValue = ["userinfo": ["nickname": "signed"], "userinfoToken": [:]]
    for provider in ["demo", "signed"] {
      #expect(try profile(attempt(provider, settings))["nickname"] == "signed")
    }
    #expect(try profile(attempt("demo", ["userinfoToken": ["alg": "ES256"]]))["nickname"] != nil)
  }

  @Test("a userinfo answer that cannot be used is logged with the reason, and the sign-in succeeds")
  func userinfoIgnored() throws {
    let now = Int64(Date().timeIntervalSince1970)
    let faults: [(JSONValue, String)] = [
      (["badSignature": true], "the userinfo answer's signature is wrong"),
      (["alg": "none"], "the userinfo answer's alg none"),
      (["alg": "HS256-with-public-key"], "the userinfo answer's alg HS256"),
      (["claims": ["iss": "https://another.example"]], "the userinfo answer's iss"),
      (["claims": ["iss": .null]], "the userinfo answer's iss"),
      (["claims": ["aud": "another-client"]], "the userinfo answer's aud"),
      (["claims": ["aud": .null]], "the userinfo answer's aud"),
      (["claims": ["exp": .integer(now - 3600)]], "the userinfo answer's exp"),
      (["claims": ["sub": .null]], "answer has no sub"),
    ]
    for (fault, reason) in faults {
      try fixture.mend()
      let settings: JSONValue = ["userinfo": ["nickname": "x"], "userinfoToken": fault]
      #expect(try profile(attempt("demo", settings))["nickname"] == nil, "\(fault.text)")
      try eventually("the log says: \(reason)") { fixture.daemon.log.contains(reason) }
    }
    try fixture.mend()
    #expect(try profile(attempt("signed", ["userinfo": ["nickname": "x"]]))["nickname"] == nil)
    try eventually("the log says that a token was demanded") {
      fixture.daemon.log.contains("but userinfo_signed_response_alg demands one")
    }
    #expect(!fixture.daemon.log.contains("eyJ"))
  }

  @Test("a signed userinfo answer about another person ends the sign-in")
  func userinfoOfAnother() throws {
    try expectRefusal("demo", ["userinfoToken": ["claims": ["sub": "another"]]], says: "sub")
  }

  // MARK: Encryption

  @Test(
    "encrypted answers are decrypted with the key that provider.jwks made",
    arguments: [
      ("rsa", "RSA-OAEP-256"), ("direct", "ECDH-ES"), ("wrapped", "ECDH-ES+A256KW"),
    ])
  func encrypted(provider: String, algorithm: String) throws {
    if provider == "rsa" {
      _ = try admin.call("credential.set", ["name": "rsa-key", "value": Self.rsaKey()])
    }
    let keys = try register(provider)
    let key = keys["keys"]?[0]
    #expect(keys["keys"]?.arrayValue?.count == 1 && key?["use"] == "enc" && key?["d"] == nil)
    for content in ["A128GCM", "A256GCM", "A128CBC-HS256"] {
      let encryption: JSONValue = ["alg": .string(algorithm), "enc": .string(content)]
      let end = try attempt(
        provider,
        [
          "idToken": ["encryption": encryption], "userinfoToken": ["encryption": encryption],
          "userinfo": ["nickname": .string(content)],
        ])
      #expect(try profile(end)["nickname"]?.stringValue == content)
    }
    let check = try admin.call("provider.check", ["provider": .string(provider)])
    #expect(check["healthy"] == true && check.text.contains("credential"), "\(check.text)")
    // Programs get the signed token, also after a refresh.
    let asked: JSONValue = ["provider": .string(provider), "field": "idToken"]
    let first = try fixture.token(asked)["idToken"]?.stringValue ?? ""
    #expect(first.split(separator: ".").count == 3)
    try clock.advance(by: 301)
    let second = try fixture.token(asked)["idToken"]?.stringValue ?? ""
    #expect(second.split(separator: ".").count == 3 && second != first)
    #expect(
      try admin.call("provider.jwks", ["provider": .string(provider), "create": true]) == keys)
    #expect(!fixture.daemon.log.contains("PRIVATE KEY"))
  }

  @Test("a userinfo answer that is encrypted and not signed is read")
  func unsignedUserinfo() throws {
    try register("direct")
    let end = try attempt(
      "direct",
      [
        "idToken": ["encryption": ["alg": "ECDH-ES"]],
        "userinfoToken": ["encryption": ["alg": "ECDH-ES", "unsigned": true]],
        "userinfo": ["nickname": "hidden"],
      ])
    #expect(try profile(end)["nickname"] == "hidden")
  }

  @Test("an ID token that is not encrypted as configured is refused, and the message says why")
  func encryptionRefused() throws {
    try register("direct")
    let faults: [(JSONValue, String)] = [
      (.null, "is not encrypted, but id_token_encrypted_response_alg"),
      (["alg": "ECDH-ES+A128KW"], "expected ECDH-ES"),
      (["alg": "ECDH-ES", "header": ["zip": "DEF"]], "zip"),
      (["alg": "ECDH-ES", "header": ["enc": "A192GCM"]], "enc A192GCM"),
      (["alg": "ECDH-ES", "header": ["crit": ["exp"]]], "crit"),
      (["alg": "ECDH-ES", "badTag": true], "cannot be decrypted"),
      (["alg": "ECDH-ES", "unsigned": true], "does not contain a signed token"),
    ]
    for (encryption, word) in faults {
      let token: JSONValue = encryption == .null ? [:] : ["encryption": encryption]
      try fixture.mend()
      try register("direct")
      try expectRefusal("direct", ["idToken": token], says: word)
    }
    // The signature inside is verified like any other.
    try fixture.mend()
    try register("direct")
    try expectRefusal(
      "direct", ["idToken": ["encryption": ["alg": "ECDH-ES"], "badSignature": true]],
      says: "signature")
    // The provider knows an earlier key.
    _ = try admin.call("credential.delete", ["name": "ec-key"])
    let good: JSONValue = ["idToken": ["encryption": ["alg": "ECDH-ES"], "badSignature": false]]
    try expectRefusal("direct", good, says: "credential ec-key", "not set")
    _ = try admin.call("provider.jwks", ["provider": "direct", "create": true])
    try expectRefusal("direct", good, says: "cannot be decrypted", "provider jwks")
    // A provider without the setting says what to set.
    try expectRefusal("demo", good, says: "is encrypted", "id_token_encrypted_response_alg")
  }

  @Test("a refreshed ID token that cannot be decrypted is not handed out, and the access token is")
  func refreshed() throws {
    try register("direct")
    let good: JSONValue = [
      "idToken": ["encryption": ["alg": "ECDH-ES"]],
      "userinfoToken": ["encryption": ["alg": "ECDH-ES"]],
    ]
    #expect(try attempt("direct", good)["status"] == "succeeded")
    try fixture.set(["idToken": ["encryption": ["alg": "ECDH-ES", "badTag": true]]])
    try clock.advance(by: 301)
    #expect(try fixture.token(["provider": "direct"])["accessToken"] != nil)
    let error = try fixture.app.error(
      of: "token.get", ["provider": "direct", "field": "idToken"])
    #expect(error.data["reason"] == "reauthentication_required" && !error.hasSecret)
    try eventually("the log says why") { fixture.daemon.log.contains("cannot be decrypted") }
  }

  @Test("provider.jwks refuses a key of the wrong kind, and says what is missing")
  func wrongKey() throws {
    let absent = try admin.error(of: "provider.jwks", ["provider": "rsa", "create": true])
    #expect(absent.data["reason"] == "not_found")
    #expect(absent["message"]?.stringValue?.contains("openssl genpkey -algorithm RSA") == true)
    let elsewhere = try admin.error(of: "provider.jwks", ["provider": "direct"])
    #expect(elsewhere["message"]?.stringValue?.contains("provider jwks direct --create") == true)
    let elliptic = try admin.call("provider.jwks", ["provider": "direct", "create": true])
    #expect(elliptic["keys"]?[0]?["crv"] == "P-256")
    _ = try admin.call("credential.set", ["name": "rsa-key", "value": "no key"])
    let wrong = try admin.error(of: "provider.jwks", ["provider": "rsa"])
    #expect(wrong["message"]?.stringValue?.contains("rsa-key is not a PEM text") == true)
    let check = try admin.call("provider.check", ["provider": "rsa"])
    #expect(check["healthy"] == false && check.text.contains("rsa-key"))
  }
}
