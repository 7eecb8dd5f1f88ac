import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// U+212A KELVIN SIGN. Swift's `==` takes it for K, but its bytes differ, as in any other program.
private let kelvin = "\u{212A}"

@Suite("Look-alike characters in identifiers")
struct LookAlikeTests {
  private func rule(_ changes: [String: JSONValue?]) -> IDTokenClaims.Rule? {
    let good: [String: JSONValue?] = ["iss": "https://id.example/K", "aud": "K", "sub": "K"]
    let payload = claims(nonce: nil, good.merging(changes) { $1 }).encoded()
    let expected = IDTokenClaims.Expectation(
      issuer: "https://id.example/K", clientID: "K", nonce: nil, now: now, skew: .seconds(60),
      accessToken: nil, algorithm: .rs256)
    switch IDTokenClaims.check(payload: payload, expected) {
    case .success: return nil
    case .failure(let rule): return rule
    }
  }

  @Test("an ID token whose iss, aud or azp differs only by a look-alike character is refused")
  func idToken() {
    #expect(rule([:]) == nil)
    #expect(rule(["iss": .string("https://id.example/" + kelvin)]) == .issuer)
    #expect(rule(["aud": .string(kelvin)]) == .audience)
    #expect(rule(["aud": ["K", .string(kelvin)], "azp": "K"]) == .otherAudience)
    #expect(rule(["azp": .string(kelvin)]) == .authorizedParty)
  }

  @Test("a refreshed ID token whose iss, aud, sub or azp has a look-alike character has a flaw")
  func refreshed() {
    for (name, found) in [
      ("iss", "https://id.example/" + kelvin), ("aud", kelvin), ("sub", kelvin),
    ] {
      var said: [String: JSONValue] = ["iss": "https://id.example/K", "aud": "K", "sub": "K"]
      said[name] = .string(found)
      let token = Secret("e30.\(Base64URL.encode(JSONValue.object(said).encoded())).sig")
      let flaw = IDTokenClaims.flaw(
        refreshed: token, issuer: "https://id.example/K", clientID: "K", subject: "K")
      #expect(flaw != nil, "\(name)")
    }
    var signIn = SignInClaims()
    signIn.authorizedParty = "K"
    let said: JSONValue = [
      "iss": "https://id.example/K", "aud": "K", "sub": "K", "azp": .string(kelvin),
    ]
    let token = Secret("e30.\(Base64URL.encode(said.encoded())).sig")
    #expect(
      IDTokenClaims.flaw(
        refreshed: token, issuer: "https://id.example/K", clientID: "K", subject: "K",
        signIn: signIn) == .otherAuthorizedParty)
  }

  @Test("a signing key is not found by a kid that differs only by a look-alike character")
  func keyID() {
    let coordinate = JSONValue.string(Base64URL.encode([UInt8](repeating: 3, count: 32)))
    let key: JSONValue = [
      "kty": "EC", "crv": "P-256", "kid": "K", "x": coordinate, "y": coordinate,
    ]
    let picked = SigningKey(
      for: signed(["alg": "ES256", "kid": .string(kelvin)]), in: ["keys": [key]],
      .accepted(by: metadata { $0.idTokenAlgorithms = ["ES256"] }))
    #expect(picked == .unknownKey)
  }

  @Test("a userinfo subject that differs only by a look-alike character is another subject")
  func userinfo() {
    let person = reply(["sub": .string(kelvin)])
    #expect(UserinfoReply(person, subject: "K") == .otherSubject)
  }

  @Test(
    "metadata and a redirect are refused if their issuer differs only by a look-alike character")
  func issuers() throws {
    let settings = OIDCSettings(
      issuer: try ProviderURL(setting: "https://id.example/K"), clientID: "usher")
    let document: JSONValue = [
      "issuer": .string("https://id.example/" + kelvin), "token_endpoint": "https://id.example/t",
    ]
    guard case .unusable = OIDCMetadata.read(documents: [document], settings: settings) else {
      Issue.record("the metadata is accepted")
      return
    }
    var driven = try DrivenAuthorize()
    driven.toBrowser(metadata { $0.issuer = "https://id.example/K" })
    driven.receive(
      .redirected(AuthorizationResponse(code: Secret("c"), iss: "https://id.example/" + kelvin)))
    #expect(driven.failure?.reason == .providerProtocolError)
  }
  @Test("a Freedom ID account whose id differs only by a look-alike character is another account")
  func freedom() throws {
    let account = NamedAccount(id: AccountID("acc_1"), subject: "K", label: "K")
    let other = NamedAccount(id: AccountID("acc_1"), subject: kelvin, label: "K")
    // The provider's list of linked accounts does not contain the account.
    var driven = try DeviceDriven(accounts: [account])
    driven.answered(DeviceDriven.list([other]))
    #expect(driven.state == "authentication")
    // The profile's id is not the account's subject.
    driven = try DeviceDriven.home([account])
    driven.say(.choice("acc_1"))
    driven.prove()
    driven.receive(.answered(.consents([])))
    driven.say(.granted(["read.firstname", "read.phone"]))
    driven.answered(DeviceDriven.profile(["id": .string(kelvin)]))
    #expect(driven.completion == nil && driven.failure?.reason == .providerProtocolError)
  }
}
