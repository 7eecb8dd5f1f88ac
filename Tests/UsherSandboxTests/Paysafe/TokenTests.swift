import Foundation
import Testing

@testable import UsherSandbox

@Suite("Tokens of the Paysafe fake")
struct PaysafeTokenTests {
  @Test("a Paysafe code is valid once, for 60 s, for its client, brand, redirect URI and verifier")
  func boundCodes() async throws {
    let bank = try Bank()
    let code = try await bank.code()
    let fields = [
      "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI,
      "code_verifier": verifier,
    ]
    let byOther = fields.merging(["client_id": "acme-public"]) { $1 }
    #expect(try await bank.token(byOther, authorization: nil).error == "invalid_grant")
    #expect(try await bank.token(fields, brand: "globex").error == "invalid_grant")
    let reply = try await bank.redeem(code)
    #expect(reply.headers["Cache-Control"] == "no-store")
    let tokens = try reply.json()
    #expect(try await bank.redeem(code).error == "invalid_grant")
    #expect(try await bank.refresh(tokens["refresh_token"]).error == "invalid_grant")
    let wrong = String(repeating: "x", count: 43)
    #expect(
      try await bank.redeem(bank.code(), ["code_verifier": wrong]).error == "invalid_grant")
    #expect(
      try await bank.redeem(bank.code(), ["redirect_uri": "http://127.0.0.1:1/callback"]).error
        == "invalid_grant")
    let late = try await bank.code()
    bank.wait(60)
    #expect(try await bank.redeem(late).error == "invalid_grant")
  }

  @Test("a Paysafe refresh token is replaced at use, and its reuse revokes the token family")
  func refresh() async throws {
    let bank = try Bank()
    let first = try await bank.redeem(bank.code()).json()
    bank.wait(1700)
    let second = try await bank.refresh(first["refresh_token"]).json()
    #expect(second["refresh_token"] != first["refresh_token"])
    #expect(try RequestParts(second["id_token"]).claims["sub"] == "usr_alice")
    bank.wait(1700)
    let third = try await bank.refresh(second["refresh_token"]).json()
    #expect(try await bank.refresh(third["refresh_token"], brand: "globex").status == 400)
    #expect(try await bank.refresh(second["refresh_token"]).error == "invalid_grant")
    #expect(try await bank.refresh(third["refresh_token"]).error == "invalid_grant")
    let other = try await bank.redeem(bank.code()).json()
    bank.wait(1800)
    #expect(try await bank.refresh(other["refresh_token"]).error == "invalid_grant")
  }

  @Test("Paysafe accepts form-encoded Basic credentials only, and no secret in the form")
  func basic() async throws {
    let bank = try Bank()
    let grant = ["grant_type": "client_credentials"]
    func status(_ pair: String) async throws -> Int {
      let header = "Basic \(Data(pair.utf8).base64EncodedString())"
      return try await bank.token(grant, authorization: header).status
    }
    #expect(try await status("acme-wallet:s3cret%3A%2B%2F%25") == 200)
    #expect(try await status("acme-wallet:s3cret%3a%2b%2f%25") == 200)
    for secret in ["s3cret:+/%", "s3cret%3A%2B/%25", "s3cret%3A%2B%2F%", "s3cret%3A+%2F%25", ""] {
      #expect(try await status("acme-wallet:\(secret)") == 401)
    }
    let inForm = ["client_id": "acme-wallet", "client_secret": "s3cret:+/%"]
    let reply = try await bank.token(
      grant.merging(inForm) { $1 }, authorization: nil)
    #expect(reply.status == 401)
    #expect(reply.headers["WWW-Authenticate"]?.hasPrefix("Basic") == true)
  }

  @Test("a Paysafe config token has a fingerprint that authorize accepts from its client and brand")
  func configToken() async throws {
    let bank = try Bank()
    let reply = try await bank.token(["grant_type": "client_credentials"]).json()
    #expect(reply["expires_in"] == 900)
    #expect(reply["refresh_token"] == nil)
    #expect(try RequestParts(reply["access_token"]).claims["sub"] == "acme-wallet")
    let fingerprint = try #require(reply["digital_fingerprint"]?.text)
    let fields = ["digital_fingerprint": fingerprint]
    #expect(try await bank.authorize(fields).status == 200)
    let elsewhere = try await bank.authorize(fields, brand: "globex").parameters()
    #expect(elsewhere["error"] == "invalid_request")
    let other = try await bank.authorize(fields.merging(["client_id": "acme-public"]) { $1 })
    #expect(try other.parameters()["error"] == "invalid_request")
    bank.wait(900)
    #expect(try await bank.authorize(fields).parameters()["error"] == "invalid_request")
  }

  @Test("a public Paysafe client gets tokens for a code, but no config token")
  func publicClient() async throws {
    let bank = try Bank()
    let id = ["client_id": "acme-public"]
    let code = try await bank.code(id)
    let fields = [
      "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI,
      "code_verifier": verifier,
    ]
    #expect(
      try await bank.token(fields.merging(id) { $1 }, authorization: nil).status == 200)
    let config = ["grant_type": "client_credentials"].merging(id) { $1 }
    #expect(try await bank.token(config, authorization: nil).error == "unauthorized_client")
  }

  @Test("the Paysafe token endpoint answers each invalid request with the matching OAuth error")
  func errors() async throws {
    let bank = try Bank()
    #expect(try await bank.token([:]).error == "invalid_request")
    #expect(try await bank.token(["grant_type": "password"]).error == "unsupported_grant_type")
    #expect(
      try await bank.token(["grant_type": "authorization_code"]).error == "invalid_request")
    #expect(try await bank.redeem("ac_x", ["code_verifier": "short"]).error == "invalid_request")
    #expect(try await bank.redeem("ac_x").error == "invalid_grant")
    #expect(try await bank.token(["grant_type": "refresh_token"]).error == "invalid_request")
  }

  @Test("settings change the lifetimes and members of Paysafe token replies")
  func knobs() async throws {
    let bank = try Bank()
    try await bank.set([
      "accessTokenSeconds": 5, "refreshTokenSeconds": 10, "idToken": false,
      "tokenReply": ["scope": .null, "expires_in": "5"],
    ])
    let tokens = try await bank.redeem(bank.code()).json()
    #expect(tokens["id_token"] == nil)
    #expect(tokens["scope"] == nil)
    #expect(tokens["expires_in"] == "5")
    #expect(tokens["refresh_expires_in"] == 10)
    bank.wait(10)
    #expect(try await bank.refresh(tokens["refresh_token"]).error == "invalid_grant")
  }

  @Test("settings omit the fingerprint from Paysafe config tokens and require it at authorize")
  func fingerprintKnobs() async throws {
    let bank = try Bank()
    try await bank.set(["digitalFingerprint": false, "requireDigitalFingerprint": true])
    let reply = try await bank.token(["grant_type": "client_credentials"]).json()
    #expect(reply["digital_fingerprint"] == nil)
    #expect(try await bank.authorize().parameters()["error"] == "invalid_request")
  }
}
