import Foundation
import Testing

@testable import UsherSandbox

@Suite("Authorization codes of the sandbox")
struct CodeTests {
  @Test("a replayed authorization code is refused and revokes the tokens of its first use")
  func replay() throws {
    var (ledger, code) = TokenLedger.withCode()
    let tokens = try ledger.redeem(code)
    #expect(ledger.permission(of: tokens.accessToken, now: start) != nil)
    #expect(refusal { _ = try ledger.redeem(code, after: 500) } == "invalid_grant")
    #expect(ledger.permission(of: tokens.accessToken, now: start) == nil)
    #expect(refusal { _ = try ledger.refresh(tokens.refreshToken) } == "invalid_grant")
  }

  @Test("a wrong verifier or redirect URI is refused and uses up the authorization code")
  func spent() throws {
    var (ledger, code) = TokenLedger.withCode()
    let wrong = String(repeating: "x", count: 43)
    #expect(refusal { _ = try ledger.redeem(code, verifier: wrong) } == "invalid_grant")
    #expect(refusal { _ = try ledger.redeem(code) } == "invalid_grant")
    (ledger, code) = TokenLedger.withCode()
    #expect(refusal { _ = try ledger.redeem(code, redirectURI: "http://x") } == "invalid_grant")
    #expect(refusal { _ = try ledger.redeem(code) } == "invalid_grant")
  }

  @Test("an authorization code is refused to another client and stays valid for its own client")
  func otherClient() throws {
    var (ledger, code) = TokenLedger.withCode()
    #expect(refusal { _ = try ledger.redeem(code, client: confidentialClient) } == "invalid_grant")
    #expect(refusal { _ = try ledger.redeem(code) } == nil)
  }

  @Test(
    "an authorization code and its refresh token need their brand; a wrong brand spends neither")
  func brands() throws {
    var ledger = TokenLedger(OIDCBackendSettings().terms)
    var authorization = TokenAuthorization.test()
    authorization.brand = "acme"
    let code = ledger.issueCode(
      for: authorization, redirectURI: redirectURI, challenge: challenge, now: start)
    for brand in [nil, "globex"] {
      #expect(refusal { _ = try ledger.redeem(code, brand: brand) } == "invalid_grant")
    }
    let token = try ledger.redeem(code, brand: "acme").refreshToken
    #expect(refusal { _ = try ledger.refresh(token) } == "invalid_grant")
    let again = try ledger.refresh(
      token ?? "", client: publicClient, brand: "acme", scope: nil, now: start)
    #expect(again.authorization.brand == "acme")
  }

  @Test("the sandbox refuses an authorization code whose lifetime is over")
  func expiry() {
    var (ledger, code) = TokenLedger.withCode { $0.codeSeconds = 10 }
    #expect(refusal { _ = try ledger.redeem(code, after: 10) } == "invalid_grant")
  }

  @Test(
    "PKCE accepts the pair of RFC 7636 appendix B and refuses malformed verifiers and challenges")
  func pkce() {
    #expect(PKCEVerification.matches(verifier: verifier, challenge: challenge))
    #expect(!PKCEVerification.matches(verifier: verifier + "x", challenge: challenge))
    #expect(!PKCEVerification.isVerifier(String(repeating: "a", count: 42)))
    #expect(!PKCEVerification.isVerifier(String(repeating: "a", count: 129)))
    #expect(!PKCEVerification.isVerifier(String(repeating: "ä", count: 43)))
    #expect(!PKCEVerification.isChallenge(challenge + "="))
  }

  @Test("an access token ends by time or by its revocation, which leaves its refresh token valid")
  func accessTokens() throws {
    var (ledger, tokens) = try TokenLedger.signedIn()
    let end = start.addingTimeInterval(301)
    #expect(ledger.permission(of: tokens.accessToken, now: start) != nil)
    #expect(ledger.permission(of: tokens.accessToken, now: end) == nil)
    try ledger.revoke(tokens.accessToken, client: publicClient, now: start)
    #expect(ledger.permission(of: tokens.accessToken, now: start) == nil)
    #expect(refusal { _ = try ledger.refresh(tokens.refreshToken) } == nil)
  }

  @Test(
    "revoking a refresh token ends its grant, is refused to other clients, ignores unknown tokens")
  func revocation() throws {
    var (ledger, tokens) = try TokenLedger.signedIn()
    let token = try #require(tokens.refreshToken)
    #expect(
      refusal { try ledger.revoke(token, client: confidentialClient, now: start) }
        == "invalid_grant")
    #expect(ledger.introspection(of: token, now: start) != nil)
    try ledger.revoke(token, client: publicClient, now: start)
    #expect(ledger.permission(of: tokens.accessToken, now: start) == nil)
    #expect(ledger.introspection(of: token, now: start) == nil)
    #expect(refusal { try ledger.revoke("rt_x", client: publicClient, now: start) } == nil)
  }
}

@Suite("Rotation and bounds of the sandbox's refresh tokens")
struct RefreshTests {
  @Test(
    "with strict rotation a replaced refresh token is refused, and its reuse revokes the family")
  func strict() throws {
    var (ledger, first) = try TokenLedger.signedIn()
    let second = try ledger.refresh(first.refreshToken)
    #expect(refusal { _ = try ledger.refresh(first.refreshToken) } == "invalid_grant")
    #expect(refusal { _ = try ledger.refresh(second.refreshToken) } == "invalid_grant")
    #expect(ledger.permission(of: second.accessToken, now: start) == nil)
  }

  @Test("with graceful rotation a refresh token works until its successor is used")
  func graceful() throws {
    var (ledger, first) = try TokenLedger.signedIn { $0.rotation = .graceful }
    let lost = try ledger.refresh(first.refreshToken)
    let second = try ledger.refresh(first.refreshToken)
    let third = try ledger.refresh(second.refreshToken)
    var other = ledger
    #expect(refusal { _ = try other.refresh(first.refreshToken) } == "invalid_grant")
    #expect(refusal { _ = try other.refresh(third.refreshToken) } == "invalid_grant")
    #expect(refusal { _ = try ledger.refresh(lost.refreshToken) } == "invalid_grant")
  }

  @Test(
    "a refresh at the sandbox may narrow the access token's scope, never exceed the granted scope")
  func scope() throws {
    var (ledger, first) = try TokenLedger.signedIn()
    let narrow = try ledger.refresh(first.refreshToken, scope: ["openid"])
    #expect(ledger.permission(of: narrow.accessToken, now: start)?.scope == ["openid"])
    #expect(
      refusal { _ = try ledger.refresh(narrow.refreshToken, scope: ["openid", "email"]) }
        == "invalid_scope")
    #expect(
      try ledger.refresh(narrow.refreshToken).scope == ["openid", "offline_access"])
  }

  @Test("a refresh token is refused after its expiry, to another client, and after revokeAll")
  func bounds() throws {
    var (ledger, first) = try TokenLedger.signedIn { $0.refreshTokenSeconds = 100 }
    let token = try #require(first.refreshToken)
    let late = start.addingTimeInterval(200)
    #expect(
      refusal { _ = try ledger.refresh(token, client: publicClient, scope: nil, now: late) }
        == "invalid_grant")
    #expect(
      refusal { _ = try ledger.refresh(token, client: confidentialClient, scope: nil, now: start) }
        == "invalid_grant")
    ledger.revokeAll()
    #expect(refusal { _ = try ledger.refresh(token) } == "invalid_grant")
  }
}

@Suite("Expiring table of the sandbox")
struct TableTests {
  @Test("a full expiring table drops an expired entry first, and otherwise its oldest entry")
  func bounded() {
    var table = ExpiringTable<Int>(limit: 10)
    for number in 0..<10 {
      let seconds: Double = number == 5 ? 1 : 100
      table.insert(
        number, for: "\(number)", until: start.addingTimeInterval(seconds), now: start)
    }
    let later = start.addingTimeInterval(2)
    table.insert(10, for: "10", until: start.addingTimeInterval(100), now: later)
    #expect(table.count == 10)
    #expect(table.value("5", now: later) == nil)
    #expect(table.value("0", now: later) == 0)
    table.insert(11, for: "11", until: start.addingTimeInterval(100), now: later)
    #expect(table.count == 10)
    #expect(table.value("0", now: later) == nil)
    #expect(table.value("11", now: later) == 11)
  }
}
