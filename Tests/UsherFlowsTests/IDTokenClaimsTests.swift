import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Claims of an ID token")
struct IDTokenClaimsTests {
  private func expectation(
    nonce: String? = "n-1", algorithm: SigningAlgorithm = .rs256, maxAge: Int? = nil,
    acrValues: [String]? = nil
  ) -> IDTokenClaims.Expectation {
    .init(
      issuer: issuer, clientID: "usher", nonce: nonce.map { Secret($0) }, now: now,
      skew: .seconds(60), accessToken: Secret("access-secret"), code: Secret("code-secret"),
      state: Secret("state-secret"), algorithm: algorithm, maxAge: maxAge, acrValues: acrValues)
  }

  private func check(
    _ changes: [String: JSONValue?], _ expected: IDTokenClaims.Expectation? = nil
  ) -> IDTokenClaims.Rule? {
    let payload = claims(nonce: "n-1", changes).encoded()
    switch IDTokenClaims.check(payload: payload, expected ?? expectation()) {
    case .success: return nil
    case .failure(let rule): return rule
    }
  }

  @Test(
    "the ID token of a refresh must have the issuer, client and subject of the account",
    arguments: [
      ([:], nil), (["aud": ["other", "usher"], "exp": 1, "nonce": "n-2"], nil),
      (["iss": "https://evil.example.com"], .issuer), (["aud": "other"], .audience),
      (["aud": nil], .audience), (["sub": "u-2"], .otherSubject), (["sub": nil], .otherSubject),
    ] as [([String: JSONValue?], IDTokenClaims.Rule?)])
  func refreshed(changes: [String: JSONValue?], rule: IDTokenClaims.Rule?) {
    let payload = Base64URL.encode(claims(nonce: "n-1", changes).encoded())
    let token = Secret("e30.\(payload).sig")
    #expect(
      IDTokenClaims.flaw(refreshed: token, issuer: issuer, clientID: "usher", subject: "u-1")
        == rule)
  }

  @Test(
    "the ID token of a refresh must have the azp of the sign-in's, and no other nonce",
    arguments: [
      ([:], [:], nil), (["azp": "usher"], ["azp": "usher"], nil),
      (["azp": "usher"], [:], .otherAuthorizedParty),
      ([:], ["azp": "usher"], .otherAuthorizedParty),
      (["azp": "usher"], ["azp": "other"], .otherAuthorizedParty),
      ([:], ["azp": 1], .otherAuthorizedParty), ([:], ["nonce": nil], nil),
      ([:], ["nonce": "n-2"], .otherNonce),
    ] as [([String: JSONValue?], [String: JSONValue?], IDTokenClaims.Rule?)])
  func refreshedLike(
    first: [String: JSONValue?], second: [String: JSONValue?], rule: IDTokenClaims.Rule?
  ) throws {
    let signIn = try IDTokenClaims.check(
      payload: claims(nonce: "n-1", first).encoded(), expectation()
    ).get().signIn
    let payload = Base64URL.encode(claims(nonce: "n-1", second).encoded())
    #expect(
      IDTokenClaims.flaw(
        refreshed: Secret("e30.\(payload).sig"), issuer: issuer, clientID: "usher",
        subject: "u-1", signIn: signIn) == rule)
  }

  @Test(
    "an ID token without one of the requested acr_values is refused",
    arguments: [
      (nil, nil, nil), ("gold", nil, nil), ("gold", ["gold"], nil),
      ("gold", ["silver", "gold"], nil), ("gold", ["silver"], .authenticationClass),
      ("gold", ["golden"], .authenticationClass), (nil, ["gold"], .authenticationClass),
      (1, ["1"], .authenticationClass),
    ] as [(JSONValue?, [String]?, IDTokenClaims.Rule?)])
  func authenticationClass(acr: JSONValue?, wanted: [String]?, rule: IDTokenClaims.Rule?) {
    #expect(check(["acr": acr], expectation(acrValues: wanted)) == rule)
  }

  @Test("an ID token tells how the provider authenticated the person")
  func authentication() throws {
    let payload = claims(
      nonce: "n-1", ["acr": "gold", "amr": ["pwd", "o\u{7}tp", 1], "azp": "usher"]
    ).encoded()
    let signIn = try IDTokenClaims.check(payload: payload, expectation()).get().signIn
    #expect(signIn.authenticationClass == "gold" && signIn.authorizedParty == "usher")
    #expect(signIn.authenticationMethods == ["pwd", "otp"])
    #expect(signIn.nonce == Sealed(Secret("n-1")))
  }

  @Test(
    "an unreadable ID token of a refresh is not reported as a flaw",
    arguments: ["", "a.b", "e30.W10.s"])
  func unreadableRefreshed(token: String) {
    #expect(
      IDTokenClaims.flaw(
        refreshed: Secret(token), issuer: issuer, clientID: "usher", subject: "u-1") == nil)
  }

  @Test("valid ID token claims are accepted, and the person and the times are read from them")
  func good() throws {
    let payload = claims(nonce: "n-1", ["auth_time": 1_799_999_990]).encoded()
    let read = try IDTokenClaims.check(payload: payload, expectation()).get()
    #expect(read.person.subject == "u-1")
    #expect(read.person.profile == ["name": "Ada"])
    #expect(read.issuedAt == now)
    #expect(read.expiresAt == now + .seconds(300))
    #expect(read.signIn.authenticatedAt == now - .seconds(10))
  }

  @Test(
    "ID token claims at the edge of the allowed range are accepted",
    arguments: [
      ["exp": 1_799_999_941], ["exp": 1_800_000_000.5], ["iat": 1_800_000_060],
      ["iat": 1_799_913_540], ["aud": ["usher"]], ["aud": "usher", "azp": "usher"],
      ["aud": ["usher", "usher"], "azp": "usher"], ["nbf": 1_800_000_060],
      ["sub": .string(String(repeating: "x", count: 255))], ["unknown": [1]], ["acr": 0],
    ] as [[String: JSONValue]])
  func edges(changes: [String: JSONValue]) {
    #expect(check(changes) == nil)
  }

  @Test(
    "every invalid ID token claim is refused with the rule that it breaks",
    arguments: [
      ("iss", "https://evil.example.com", .issuer), ("iss", "https://id.example.com/", .issuer),
      ("iss", nil, .issuer), ("iss", 5, .issuer),
      ("aud", "other", .audience), ("aud", [], .audience), ("aud", nil, .audience),
      ("aud", ["other"], .audience), ("aud", 5, .audience), ("aud", "usher2", .audience),
      ("aud", ["usher", "other"], .authorizedParty), ("aud", ["usher", 5], .authorizedParty),
      ("azp", "other", .authorizedParty), ("azp", 5, .authorizedParty),
      ("sub", "", .subject), ("sub", nil, .subject), ("sub", 5, .subject),
      ("sub", "a\u{0}", .subject), ("sub", .string(String(repeating: "x", count: 256)), .subject),
      ("exp", 1_799_999_940, .expiry), ("exp", nil, .expiry), ("exp", "1800000300", .expiry),
      ("exp", -1e300, .expiry),
      ("iat", 1_800_000_061, .issuedInFuture), ("iat", nil, .issuedInFuture),
      ("iat", "x", .issuedInFuture), ("iat", 1_799_913_539, .issuedLongAgo),
      ("iat", 0, .issuedLongAgo),
      ("nbf", 1_800_000_061, .notYetValid), ("nbf", "x", .notYetValid),
      ("nonce", "n-2", .nonce), ("nonce", nil, .nonce), ("nonce", "", .nonce), ("nonce", 5, .nonce),
      ("at_hash", "AAAA", .accessTokenHash), ("at_hash", 5, .accessTokenHash),
      ("at_hash", "", .accessTokenHash),
      ("c_hash", "AAAA", .codeHash), ("c_hash", 5, .codeHash),
      ("s_hash", "AAAA", .stateHash), ("s_hash", [], .stateHash),
    ] as [(String, JSONValue?, IDTokenClaims.Rule)])
  func refused(claim: String, value: JSONValue?, rule: IDTokenClaims.Rule) {
    let changes: [String: JSONValue?] = [claim: value]
    #expect(check(changes) == rule)
    #expect(rule.message.hasPrefix("the ID token is refused: "))
  }

  @Test("an ID token with a second audience is refused even if azp names this client")
  func otherAudience() {
    #expect(check(["aud": ["usher", "other"], "azp": "usher"]) == .otherAudience)
    #expect(check(["aud": ["usher", "other"], "azp": "other"]) == .authorizedParty)
  }

  @Test("an ID token needs no nonce if the request sent none")
  func noNonce() {
    #expect(check([:], expectation(nonce: nil)) == nil)
    #expect(check(["nonce": .some(nil)], expectation(nonce: nil)) == nil)
  }

  @Test("an ID token needs a recent auth_time if the request asked for max_age")
  func authTime() {
    let expected = expectation(maxAge: 100)
    #expect(check([:], expected) == .authTime)
    #expect(check(["auth_time": "x"], expected) == .authTime)
    #expect(check(["auth_time": 1_799_999_839], expected) == .authTime)
    #expect(check(["auth_time": 1_799_999_840], expected) == nil)
    #expect(check(["auth_time": 1_800_000_060], expected) == nil)
    #expect(check(["auth_time": 1_800_000_061], expected) == .authTime)
  }

  @Test(
    "at_hash uses the hash of the ID token's signature algorithm, and the claim check accepts it")
  func accessTokenHash() {
    // The example of OIDC Core appendix A.3: access token and at_hash under RS256.
    let token = Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
    #expect(
      SigningAlgorithm.rs256.leftHash(of: token).revealed() == "77QmUPtjPfzWtF2AnpK9RQ")
    let lengths: [SigningAlgorithm: Int] = [
      .rs256: 22, .ps256: 22, .es256: 22, .hs256: 22, .rs384: 32, .ps384: 32, .es384: 32,
      .hs384: 32, .rs512: 43, .ps512: 43, .es512: 43, .hs512: 43, .edDSA: 43,
    ]
    for algorithm in SigningAlgorithm.allCases {
      let hash = algorithm.leftHash(of: Secret("access-secret")).revealed()
      #expect(hash.count == lengths[algorithm])
      #expect(check(["at_hash": .string(hash)], expectation(algorithm: algorithm)) == nil)
    }
  }

  @Test("c_hash and s_hash are accepted if they are those of the code and of the state")
  func codeAndStateHash() {
    for algorithm in SigningAlgorithm.allCases {
      let code = algorithm.leftHash(of: Secret("code-secret")).revealed()
      let state = algorithm.leftHash(of: Secret("state-secret")).revealed()
      let expected = expectation(algorithm: algorithm)
      #expect(check(["c_hash": .string(code), "s_hash": .string(state)], expected) == nil)
      #expect(check(["c_hash": .string(state)], expected) == .codeHash)
      #expect(check(["s_hash": .string(code)], expected) == .stateHash)
      var device = expected
      (device.code, device.state) = (nil, nil)
      #expect(check(["c_hash": "AAAA", "s_hash": "AAAA"], device) == nil)
    }
  }

  @Test(
    "an ID token payload that is not a JSON object is unreadable",
    arguments: ["", "[]", "{", "\u{FEFF}{}"])
  func unreadable(text: String) {
    let result = IDTokenClaims.check(payload: Array(text.utf8), expectation())
    guard case .failure(.unreadable) = result else {
      Issue.record("read")
      return
    }
  }
}
