import Foundation
import Testing

@testable import UsherSandbox

extension OAuth2App {
  fileprivate static func atlassian() throws -> OAuth2App {
    try OAuth2App { AtlassianBackend($0) }
  }

  fileprivate func atlassianPage(_ changes: [String: String?] = [:]) async throws -> Reply {
    var query: [String: String?] = [
      "client_id": "usher-atlassian", "redirect_uri": redirectURI, "state": "s0",
      "scope": "read:me offline_access", "response_type": "code", "prompt": "consent",
      "audience": "api.atlassian.com",
    ]
    query.merge(changes) { $1 }
    return try await send(.get, "/atlassian/authorize", query: query.compactMapValues(\.self))
  }

  /// Calls the token endpoint with the right client credentials.
  fileprivate func atlassianToken(
    _ members: JSON, secret: JSON = "s3cret:atlassian/+=", type: String = "application/json"
  ) async throws -> Reply {
    guard case .object(var members) = members else {
      throw GoPayApp.AppError(description: "not an object")
    }
    members["client_id"] = "usher-atlassian"
    members["client_secret"] = secret
    return try await post("/atlassian/oauth/token", json: .object(members), type: type)
  }

  fileprivate func atlassianTokens(_ changes: [String: String?] = [:]) async throws -> JSON {
    let redirect = try await decide(on: try await atlassianPage(changes)).parameters()
    #expect(Set(redirect.keys) == ["code", "state"])
    let reply = try await atlassianToken([
      "grant_type": "authorization_code", "code": .string(redirect["code"] ?? ""),
      "redirect_uri": .string(redirectURI),
    ])
    return try reply.json()
  }
}

@Suite("Atlassian fake")
struct AtlassianTests {
  @Test("an Atlassian sign-in yields tokens for one hour and, with offline_access, a refresh token")
  func signIn() async throws {
    let app = try OAuth2App.atlassian()
    let tokens = try await app.atlassianTokens()
    #expect(tokens["token_type"] == "Bearer")
    #expect(tokens["expires_in"] == 3600)
    #expect(tokens["scope"] == "read:me offline_access")
    #expect(tokens["refresh_token"]?.text != nil)
    let user = try await app.get("/atlassian/me", token: tokens["access_token"]?.text).json()
    #expect(user["account_id"]?.text?.hasPrefix("712020:") == true)
    #expect(user["email"] == "alice@example.com")
    #expect(user["name"] == "Alice Adams")
    #expect(user["picture"]?.text != nil)
    #expect(try await app.atlassianTokens(["scope": "read:me"])["refresh_token"] == nil)
  }

  @Test(
    "Atlassian shows an error page unless the request has its audience and prompt=consent",
    arguments: [
      ["audience": nil], ["audience": "other"], ["prompt": nil], ["prompt": "login"],
      ["response_type": nil], ["client_id": "x"], ["redirect_uri": "https://evil.example"],
    ] as [[String: String?]])
  func errorPages(_ changes: [String: String?]) async throws {
    #expect(try await OAuth2App.atlassian().atlassianPage(changes).isErrorPage)
  }

  @Test("Atlassian's token endpoint accepts only JSON")
  func onlyJSON() async throws {
    let app = try OAuth2App.atlassian()
    let form = try await app.post(
      "/atlassian/oauth/token", ["grant_type": "refresh_token", "refresh_token": "x"])
    #expect(form.status == 415)
    let text = try await app.atlassianToken([:], type: "text/plain")
    #expect(text.status == 415)
    #expect(try await app.post("/atlassian/oauth/token", json: []).status == 400)
  }

  @Test("an Atlassian refresh replaces the refresh token, and a used one gets 403 invalid_grant")
  func refresh() async throws {
    let app = try OAuth2App.atlassian()
    let first = try await app.atlassianTokens()["refresh_token"] ?? .null
    let request: JSON = ["grant_type": "refresh_token", "refresh_token": first]
    let second = try await app.atlassianToken(request).json()
    #expect(second["refresh_token"]?.text != nil)
    #expect(second["refresh_token"] != first)
    let refused = try await app.atlassianToken(request)
    #expect(refused.status == 403)
    #expect(
      try refused.json() == [
        "error": "invalid_grant", "error_description": "Unknown or invalid refresh token.",
      ])
  }

  @Test("Atlassian answers 401 access_denied to a wrong secret and 403 to a wrong code")
  func refused() async throws {
    let app = try OAuth2App.atlassian()
    let request: JSON = [
      "grant_type": "authorization_code", "code": "x", "redirect_uri": .string(redirectURI),
    ]
    for secret in ["x", .null] as [JSON] {
      let refused = try await app.atlassianToken(request, secret: secret)
      #expect(refused.status == 401)
      #expect(
        try refused.json() == ["error": "access_denied", "error_description": "Unauthorized"])
    }
    let wrongCode = try await app.atlassianToken(request)
    #expect(wrongCode.status == 403)
    #expect(wrongCode.error == "invalid_grant")
    let wrongGrant = try await app.atlassianToken(["grant_type": "password"])
    #expect(wrongGrant.error == "unsupported_grant_type")
  }

  @Test("Atlassian returns the user only with the scope read:me and a token that has not expired")
  func user() async throws {
    let app = try OAuth2App.atlassian()
    let other = try await app.atlassianTokens(["scope": "read:jira-user"])["access_token"]?.text
    #expect(try await app.get("/atlassian/me", token: other).status == 403)
    let token = try await app.atlassianTokens()["access_token"]?.text
    app.wait(3600)
    #expect(try await app.get("/atlassian/me", token: token).status == 401)
    #expect(try await app.get("/atlassian/me", token: nil).status == 401)
  }
}
