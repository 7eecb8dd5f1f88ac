import Foundation
import Testing

@testable import UsherSandbox

private let tokenPath = "/slack/api/oauth.v2.user.access"

extension OAuth2App {
  fileprivate static func slack() throws -> OAuth2App { try OAuth2App { SlackBackend($0) } }

  fileprivate func slackPage(_ changes: [String: String?] = [:]) async throws -> Reply {
    var query: [String: String?] = [
      "client_id": "usher-slack", "redirect_uri": redirectURI, "state": "s0",
      "scope": "users:read,chat:write",
    ]
    query.merge(changes) { $1 }
    return try await send(
      .get, "/slack/oauth/v2_user/authorize", query: query.compactMapValues(\.self))
  }

  fileprivate func slackCode(_ changes: [String: String?] = [:]) async throws -> String {
    let redirect = try await decide(on: try await slackPage(changes)).parameters()
    #expect(Set(redirect.keys) == ["code", "state"])
    return try #require(redirect["code"])
  }

  /// Calls the token endpoint with the right client credentials.
  fileprivate func slackToken(_ fields: [String: String]) async throws -> JSON {
    let client = ["client_id": "usher-slack", "client_secret": "s3cret-slack"]
    let reply = try await post(tokenPath, fields.merging(client) { own, _ in own })
    #expect(reply.status == 200)
    return try reply.json()
  }

  fileprivate func slackTokens(_ more: [String: String] = [:]) async throws -> JSON {
    let fields = ["code": try await slackCode(), "redirect_uri": redirectURI]
    return try await slackToken(fields.merging(more) { $1 })
  }
}

@Suite("Slack fake")
struct SlackTests {
  @Test("a Slack sign-in yields a user token with commas in its scope, the user and the team")
  func signIn() async throws {
    let app = try OAuth2App.slack()
    let tokens = try await app.slackTokens(["grant_type": "authorization_code"])
    guard case .object(let members) = tokens else { throw GoPayApp.AppError(description: "") }
    #expect(
      Set(members.keys) == ["ok", "access_token", "token_type", "scope", "user_id", "team"])
    #expect(tokens["ok"]?.isTrue == true)
    #expect(tokens["access_token"]?.text?.hasPrefix("xoxp-") == true)
    #expect(tokens["token_type"] == "user")
    #expect(tokens["scope"] == "users:read,chat:write")
    #expect(tokens["team"] == ["id": "T0SANDBOX", "name": "Sandbox"])
    for method in [Endpoint.Method.get, .post] {
      let test = try await app.send(
        method, "/slack/api/auth.test",
        headers: ["authorization": "Bearer \(tokens["access_token"]?.text ?? "")"]
      ).json()
      #expect(test["ok"]?.isTrue == true)
      #expect(test["url"] == "http://127.0.0.1:1/slack/")
      #expect(test["user"] == "alice")
      #expect(test["team_id"] == "T0SANDBOX")
      #expect(test["user_id"]?.text?.hasPrefix("U") == true)
      #expect(test["user_id"] == tokens["user_id"])
    }
  }

  @Test("Slack shows an error page for a scope with a space, a wrong client or redirect URI")
  func errorPages() async throws {
    let app = try OAuth2App.slack()
    #expect(try await app.slackPage(["scope": "users:read chat:write"]).isErrorPage)
    #expect(try await app.slackPage(["client_id": "x"]).isErrorPage)
    #expect(try await app.slackPage(["redirect_uri": "https://evil.example"]).isErrorPage)
  }

  @Test("Slack authenticates the client by HTTP Basic as well as by the form")
  func basic() async throws {
    let app = try OAuth2App.slack()
    let fields = ["code": try await app.slackCode(), "redirect_uri": redirectURI]
    func basic(_ pair: String) -> [String: String] {
      ["authorization": "Basic \(Data(pair.utf8).base64EncodedString())"]
    }
    let wrong = try await app.post(tokenPath, fields, headers: basic("usher-slack:x"))
    #expect(wrong.error == "bad_client_secret")
    let unknown = try await app.post(tokenPath, fields, headers: basic("x:s3cret-slack"))
    #expect(unknown.error == "invalid_client_id")
    let right = try await app.post(
      tokenPath, fields, headers: basic("usher-slack:s3cret-slack"))
    #expect(try right.json()["ok"]?.isTrue == true)
  }

  @Test("Slack refuses grants with status 200, ok: false and its own error codes")
  func errors() async throws {
    let app = try OAuth2App.slack()
    let cases: [(fields: [String: String], error: String)] = [
      (["code": "x"], "invalid_code"), ([:], "invalid_code"),
      (["client_secret": "x"], "bad_client_secret"), (["client_id": "x"], "invalid_client_id"),
      (["code": try await app.slackCode()], "bad_redirect_uri"),
      (
        ["code": try await app.slackCode(), "redirect_uri": "http://127.0.0.1:1/callback"],
        "bad_redirect_uri"
      ),
      (["grant_type": "refresh_token", "refresh_token": "x"], "invalid_refresh_token"),
      (["grant_type": "password"], "invalid_grant_type"),
    ]
    for (fields, error) in cases {
      #expect(try await app.slackToken(fields) == ["ok": false, "error": .string(error)])
    }
  }

  @Test("Slack checks PKCE if the authorization request has a challenge")
  func pkce() async throws {
    let app = try OAuth2App.slack()
    let request = ["code_challenge": challenge, "code_challenge_method": "S256"]
    let fields = ["redirect_uri": redirectURI, "code_verifier": verifier]
    let right = try await app.slackToken(
      fields.merging(["code": try await app.slackCode(request)]) { $1 })
    #expect(right["ok"]?.isTrue == true)
    let wrong = try await app.slackToken([
      "code": try await app.slackCode(request), "redirect_uri": redirectURI,
    ])
    #expect(wrong["error"] == "invalid_code")
  }

  @Test("with expiringTokens, a Slack refresh replaces the refresh token and refuses a used one")
  func expiring() async throws {
    let app = try OAuth2App.slack()
    try await app.set(["expiringTokens": true])
    let first = try await app.slackTokens()
    #expect(first["expires_in"] == 43_200)
    let token = try #require(first["refresh_token"]?.text)
    #expect(token.hasPrefix("xoxe-1-"))
    let fields = ["grant_type": "refresh_token", "refresh_token": token]
    let second = try await app.slackToken(fields)
    #expect(second["ok"]?.isTrue == true)
    #expect(second["refresh_token"] != first["refresh_token"])
    #expect(try await app.slackToken(fields)["error"] == "invalid_refresh_token")
  }

  @Test("a revoked Slack token is refused as invalid_auth, and a missing one as not_authed")
  func revocation() async throws {
    for method in [Endpoint.Method.get, .post] {
      let app = try OAuth2App.slack()
      let token = try await app.slackTokens()["access_token"]?.text
      let headers = ["authorization": "Bearer \(token ?? "")"]
      let revoked = try await app.send(method, "/slack/api/auth.revoke", headers: headers)
      #expect(try revoked.json() == ["ok": true, "revoked": true])
      let again = try await app.send(method, "/slack/api/auth.revoke", headers: headers)
      #expect(try again.json() == ["ok": false, "error": "invalid_auth"])
      let test = try await app.get("/slack/api/auth.test", token: token)
      #expect(test.status == 200)
      #expect(try test.json() == ["ok": false, "error": "invalid_auth"])
      #expect(try await app.get("/slack/api/auth.test", token: nil).error == "not_authed")
    }
  }
}
