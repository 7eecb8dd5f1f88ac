import Crypto
import Foundation
import Testing

@testable import UsherSandbox

@Suite("OpenID sign-in of the Freedom ID fake")
struct FreedomOpenIDTests {
  private static let redirect = "http://127.0.0.1:5555/callback"

  private func path(_ change: [String: String?] = [:]) -> String {
    let standard: [String: String?] = [
      "client_id": "acme", "redirect_uri": Self.redirect, "response_type": "code",
      "scope": "openid email", "state": "s0", "nonce": "n0",
    ]
    let query = standard.merging(change) { $1 }
      .compactMap { name, value in value.map { "\(name)=\(PercentEncoding.encoded($0))" } }
    return "/freedomid/openid?" + query.joined(separator: "&")
  }

  private func code(_ app: FreedomApp, _ change: [String: String?] = [:]) async throws -> String {
    let consent = try await app.signedIn(path(change))
    let end = try await app.type(["decision": "allow"], on: consent, to: "consent")
    #expect(end.parameter("state") == "s0")
    return try #require(end.parameter("code"))
  }

  private func body(_ code: String, _ more: [String: JSON] = [:]) -> JSON {
    .object(
      [
        "grant_type": "authorization_code", "code": .string(code),
        "redirect_uri": .string(Self.redirect),
      ].merging(more) { $1 })
  }

  private func claims(_ answer: FreedomApp.Answer) throws -> JSON {
    let token = try #require(answer.json["id_token"]?.text, "\(answer.json)")
    var text = String(try #require(token.split(separator: ".").dropFirst().first))
    text = text.replacing("-", with: "+").replacing("_", with: "/")
    text += String(repeating: "=", count: (4 - text.count % 4) % 4)
    return try JSON(parsing: try #require(Base64.decoded(text)))
  }

  @Test("a Freedom ID OpenID refresh token works once, and the new ID token has no nonce")
  func refreshed() async throws {
    let app = try FreedomApp()
    let first = try await app.openIDToken(body(try await code(app)))
    let refresh: JSON = [
      "grant_type": "refresh_token", "refresh_token": first.json["refresh_token"] ?? .null,
    ]
    let second = try await app.openIDToken(refresh)
    #expect(second.status == 200)
    #expect(try claims(second)["nonce"] == nil)
    #expect(try await app.openIDToken(refresh).json["error"] == "invalid_grant")
  }

  @Test(
    "Freedom ID OpenID redirects with an error, but never for an unknown client or redirect URI")
  func refused() async throws {
    let app = try FreedomApp()
    for (name, error) in [
      ("nonce", "invalid_request"), ("state", "invalid_request"),
      ("response_type", "unsupported_response_type"), ("scope", "invalid_scope"),
    ] {
      let answer = try await app.send(.get, path([name: String?.none]))
      #expect(answer.parameter("error") == error, "\(name)")
    }
    for change in [
      ["client_id": "other"], ["redirect_uri": "http://evil.example/callback"],
    ] {
      let answer = try await app.send(.get, path(change))
      #expect(answer.status == 400)
      #expect(answer.location.isEmpty)
    }
    let consent = try await app.signedIn(path())
    let denied = try await app.type(["decision": "deny"], on: consent, to: "consent")
    #expect(denied.parameter("error") == "access_denied")
    #expect(denied.parameter("state") == "s0")
  }

  @Test("a Freedom ID OpenID code is bound to its redirect URI, its client and its PKCE challenge")
  func bound() async throws {
    let app = try FreedomApp()
    let other: [String: JSON] = ["redirect_uri": "http://127.0.0.1:5556/callback"]
    #expect(try await app.openIDToken(body(code(app), other)).json["error"] == "invalid_grant")
    let stranger = try await app.openIDToken(body(code(app)), authorization: "Basic eDp5")
    #expect(stranger.json["error"] == "invalid_client")
    let pkce = ["code_challenge": challenge, "code_challenge_method": "S256"]
    #expect(try await app.openIDToken(body(code(app, pkce))).json["error"] == "invalid_grant")
    let right = try await app.openIDToken(
      body(code(app, pkce), ["code_verifier": .string(verifier)]))
    #expect(right.status == 200)
    #expect(try await app.redeem(try await code(app)).freedomCode == 100_101)
  }

  @Test("a Freedom ID OpenID code is redeemed once")
  func once() async throws {
    let app = try FreedomApp()
    let code = try await code(app)
    #expect(try await app.openIDToken(body(code)).status == 200)
    #expect(try await app.openIDToken(body(code)).json["error"] == "invalid_grant")
  }
}
