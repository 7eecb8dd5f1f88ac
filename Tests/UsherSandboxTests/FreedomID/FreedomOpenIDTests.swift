import Crypto
import Foundation
import Testing

@testable import UsherSandbox

@Suite("Freedom ID: OpenID")
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

  @Test("a code becomes tokens once, by JSON and Basic, with the nonce and a week to live")
  func tokens() async throws {
    let app = try FreedomApp()
    let code = try await code(app)
    let answer = try await app.openIDToken(body(code))
    #expect(answer.json["expires_in"] == 604_800)
    #expect(answer.json["token_type"] == "Bearer")
    let claims = try claims(answer)
    #expect(claims["iss"] == "http://127.0.0.1:1/freedomid")
    #expect(claims["aud"] == "acme")
    #expect(claims["nonce"] == "n0")
    #expect(claims["iat"] == 1_800_000_000)
    #expect(claims["exp"] == 1_800_604_800)
    let id = try await app.id("alice")
    #expect(claims["sub"]?.text == id)
    let access = try #require(answer.json["access_token"]?.text)
    let user = try await app.send(
      .get, "/freedomid/api/v1/oidc/userinfo", headers: ["authorization": "Bearer \(access)"])
    #expect(user.json["sub"]?.text == id)
    #expect(user.json["email"] == "alice@example.com")
    #expect(user.json["phone_number"] == nil)
    let again = try await app.openIDToken(body(code))
    #expect(again.json["error"] == "invalid_grant")
  }

  @Test("a refresh token is spent when it is used, and its answer has no nonce")
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

  @Test("state and nonce are required, and told to the client; a strange client is not")
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

  @Test("a code is bound to its redirect, its client and, where it came, its challenge")
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

  @Test("discovery names this issuer and every endpoint, and the key set has the key")
  func discovered() async throws {
    let app = try FreedomApp()
    let document = try await app.send(.get, "/freedomid/.well-known/openid-configuration").json
    let issuer = "http://127.0.0.1:1/freedomid"
    #expect(document["issuer"]?.text == issuer)
    #expect(document["code_challenge_methods_supported"] == nil)
    for name in ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"] {
      let url = try #require(document[name]?.text)
      #expect(url.hasPrefix(issuer + "/"))
      #expect(app.freedom.endpoints.contains { "http://127.0.0.1:1\($0.path)" == url })
    }
    let keys = try await app.send(.get, "/freedomid/api/v1/oidc/jwks").json["keys"]
    guard case .array(let keys)? = keys else { throw GoPayApp.Trouble(description: "no keys") }
    #expect(keys.contains { $0["alg"] == "RS256" })
    try await app.set(["idToken": ["claims": ["nonce": "other"]]])
    #expect(try claims(await app.openIDToken(body(code(app))))["nonce"] == "other")
    #expect(try await app.control(.post, "settings", ["idToken": ["x": 1]]).status == 400)
  }
}
