import Foundation
import Testing

@testable import UsherSandbox

private let tokenPath = "/github/login/oauth/access_token"
private let acceptingJSON = ["accept": "application/json"]

extension OAuth2App {
  fileprivate static func gitHub() throws -> OAuth2App { try OAuth2App { GitHubBackend($0) } }

  fileprivate func gitHubPage(_ changes: [String: String?] = [:]) async throws -> Reply {
    var query: [String: String?] = [
      "client_id": "usher-github", "redirect_uri": redirectURI, "state": "a&b",
      "scope": "read:user,gist repo",
    ]
    query.merge(changes) { $1 }
    return try await send(
      .get, "/github/login/oauth/authorize", query: query.compactMapValues(\.self))
  }

  fileprivate func gitHubCode(_ changes: [String: String?] = [:]) async throws -> String {
    try #require(
      try await decide(on: try await gitHubPage(changes)).parameters()["code"])
  }

  /// Calls the token endpoint with the right client credentials and returns the JSON.
  fileprivate func gitHubToken(
    _ fields: [String: String], secret: String? = "s3cret-github"
  ) async throws -> JSON {
    var fields = fields.merging(["client_id": "usher-github"]) { own, _ in own }
    fields["client_secret"] = secret
    let reply = try await post(tokenPath, fields, headers: acceptingJSON)
    #expect(reply.status == 200)
    return try reply.json()
  }

  fileprivate func deleteGitHubToken(
    _ token: String, basic: String = "usher-github:s3cret-github",
    path: String = "usher-github"
  ) async throws -> Int {
    let body: JSON = ["access_token": .string(token)]
    let reply = try await send(
      .delete, "/github/api/applications/\(path)/token",
      headers: [
        "user-agent": "usherd", "authorization": "Basic \(Data(basic.utf8).base64EncodedString())",
      ], body: body.encoded())
    return reply.status
  }
}

@Suite("GitHub fake: sign-in in the browser")
struct GitHubTests {
  @Test("a GitHub sign-in redirects with code and state but no iss, and its tokens never expire")
  func signIn() async throws {
    let app = try OAuth2App.gitHub()
    let redirect = try await app.decide(on: app.gitHubPage()).parameters()
    #expect(Set(redirect.keys) == ["code", "state"])
    #expect(redirect["state"] == "a&b")
    let code = try #require(redirect["code"])
    let tokens = try await app.gitHubToken(["code": code])
    guard case .object(let members) = tokens else { throw GoPayApp.AppError(description: "") }
    #expect(Set(members.keys) == ["access_token", "token_type", "scope"])
    #expect(tokens["access_token"]?.text?.hasPrefix("gho_") == true)
    #expect(tokens["token_type"] == "bearer")
    #expect(tokens["scope"] == "read:user,gist,repo")
    app.wait(10 * 365 * 86_400)
    #expect(
      try await app.get("/github/api/user", token: tokens["access_token"]?.text).status == 200)
  }

  @Test("GitHub's token endpoint answers with a form unless the request accepts JSON")
  func formReply() async throws {
    let app = try OAuth2App.gitHub()
    let reply = try await app.post(
      tokenPath,
      [
        "client_id": "usher-github", "client_secret": "s3cret-github",
        "code": try await app.gitHubCode(["scope": nil]),
      ])
    #expect(reply.headers["Content-Type"]?.hasPrefix("application/x-www-form-urlencoded") == true)
    let form = try reply.form()
    #expect(form["access_token"]?.hasPrefix("gho_") == true)
    #expect(form["token_type"] == "bearer")
    #expect(form.has("scope"))
    #expect(form["scope"] == nil)
    let refused = try await app.post(tokenPath, ["client_id": "usher-github"])
    #expect(refused.status == 200)
    #expect(try refused.form()["error"] == "incorrect_client_credentials")
  }

  @Test(
    "GitHub refuses grants with status 200 and its own error codes",
    arguments: [
      (["code": "x"], "bad_verification_code"), ([:], "bad_verification_code"),
      (["client_secret": "x"], "incorrect_client_credentials"),
      (["client_id": "x"], "incorrect_client_credentials"),
      (["redirect_uri": "http://127.0.0.1:5556/callback"], "redirect_uri_mismatch"),
      (["grant_type": "refresh_token", "refresh_token": "ghr_x"], "bad_refresh_token"),
      (["grant_type": "password"], "unsupported_grant_type"),
      (
        ["grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "x"],
        "incorrect_device_code"
      ),
    ] as [([String: String], String)])
  func errors(_ changes: [String: String], _ error: String) async throws {
    let app = try OAuth2App.gitHub()
    var fields = ["client_id": "usher-github", "client_secret": "s3cret-github"]
    if changes["redirect_uri"] != nil { fields["code"] = try await app.gitHubCode() }
    fields.merge(changes) { $1 }
    let reply = try await app.post(tokenPath, fields, headers: acceptingJSON)
    #expect(reply.status == 200)
    #expect(reply.error == error)
    let json = try reply.json()
    #expect(json["error"]?.text == error)
    #expect(json["error_description"]?.text != nil)
    #expect(json["error_uri"]?.text?.hasPrefix("https://") == true)
  }

  @Test("GitHub ignores HTTP Basic at its token endpoint")
  func noBasic() async throws {
    let app = try OAuth2App.gitHub()
    let basic = Data("usher-github:s3cret-github".utf8).base64EncodedString()
    let reply = try await app.post(
      tokenPath, ["client_id": "usher-github", "code": try await app.gitHubCode()],
      headers: ["authorization": "Basic \(basic)"])
    #expect(reply.error == "incorrect_client_credentials")
  }

  @Test("GitHub checks PKCE only if the authorization request has a challenge")
  func pkce() async throws {
    let app = try OAuth2App.gitHub()
    let request = ["code_challenge": challenge, "code_challenge_method": "S256"]
    let right = try await app.gitHubToken([
      "code": try await app.gitHubCode(request), "code_verifier": verifier,
    ])
    #expect(right["access_token"] != nil)
    let missing = try await app.gitHubToken(["code": try await app.gitHubCode(request)])
    #expect(missing["error"] == "bad_verification_code")
    let unasked = try await app.gitHubToken([
      "code": try await app.gitHubCode(), "code_verifier": verifier,
    ])
    #expect(unasked["error"] == "bad_verification_code")
    #expect(try await app.gitHubPage(["code_challenge": challenge]).isErrorPage)
  }

  @Test("a GitHub authorization request with a wrong client or redirect URI gets an error page")
  func errorPages() async throws {
    let app = try OAuth2App.gitHub()
    #expect(try await app.gitHubPage(["client_id": "x"]).isErrorPage)
    #expect(try await app.gitHubPage(["redirect_uri": "https://evil.example"]).isErrorPage)
    let denied = try await app.decide("deny", on: app.gitHubPage()).parameters()
    #expect(denied["error"] == "access_denied")
    #expect(denied["state"] == "a&b")
  }

  @Test("with expiringTokens, a GitHub refresh ends the earlier access and refresh token")
  func expiring() async throws {
    let app = try OAuth2App.gitHub()
    try await app.set(["expiringTokens": true])
    let first = try await app.gitHubToken(["code": try await app.gitHubCode()])
    #expect(first["expires_in"] == 28_800)
    #expect(first["refresh_token_expires_in"] == 15_897_600)
    let token = try #require(first["refresh_token"]?.text)
    #expect(token.hasPrefix("ghr_"))
    let fields = ["grant_type": "refresh_token", "refresh_token": token]
    let withoutSecret = try await app.gitHubToken(fields, secret: nil)
    #expect(withoutSecret["error"] == "incorrect_client_credentials")
    let second = try await app.gitHubToken(fields)
    let old = try await app.get("/github/api/user", token: first["access_token"]?.text)
    let new = try await app.get("/github/api/user", token: second["access_token"]?.text)
    #expect(old.status == 401)
    #expect(new.status == 200)
    app.wait(28_800)
    let late = try await app.get("/github/api/user", token: second["access_token"]?.text)
    #expect(late.status == 401)
    #expect(try await app.gitHubToken(fields)["error"] == "bad_refresh_token")
  }
}

@Suite("GitHub fake: REST API")
struct GitHubAPITests {
  @Test("GitHub's user has a number as id, the same in each run, and differs from other users")
  func user() async throws {
    var ids: [JSON?] = []
    for (app, name) in [
      (try OAuth2App.gitHub(), "alice"), (try OAuth2App.gitHub(), "alice"),
      (try OAuth2App.gitHub(), "bob"),
    ] {
      let page = try await app.gitHubPage()
      let code = try await app.decide(on: page, user: name).parameters()["code"]
      let token = try await app.gitHubToken(["code": code ?? ""])["access_token"]?.text
      let user = try await app.get("/github/api/user", token: token).json()
      #expect(user["login"] == .string(name))
      #expect(user["email"] == .string("\(name)@example.com"))
      #expect(user["type"] == "User")
      for member in ["name", "avatar_url", "updated_at"] { #expect(user[member]?.text != nil) }
      guard case .integer(let id)? = user["id"] else { throw GoPayApp.AppError(description: "") }
      #expect(id > 0)
      ids.append(user["id"])
    }
    #expect(ids[0] == ids[1])
    #expect(ids[0] != ids[2])
  }

  @Test("GitHub's API refuses a request without User-Agent with 403 and a wrong token with 401")
  func refused() async throws {
    let app = try OAuth2App.gitHub()
    let token = try await app.gitHubToken(["code": app.gitHubCode()])["access_token"]?.text
    let path = "/github/api/user"
    #expect(try await app.get(path, token: token, userAgent: nil).status == 403)
    #expect(try await app.get(path, token: "gho_x").status == 401)
    #expect(try await app.get(path, token: nil).status == 401)
    let deletion = try await app.send(.delete, "/github/api/applications/usher-github/token")
    #expect(deletion.status == 403)
  }

  @Test("GitHub deletes a token once, and answers 404 to another client and 422 to another token")
  func deletion() async throws {
    let app = try OAuth2App.gitHub()
    let tokens = try await app.gitHubToken(["code": app.gitHubCode()])
    let token = try #require(tokens["access_token"]?.text)
    #expect(try await app.deleteGitHubToken(token, basic: "usher-github:x") == 404)
    #expect(try await app.deleteGitHubToken(token, basic: "x:s3cret-github") == 404)
    #expect(try await app.deleteGitHubToken(token, path: "other") == 404)
    #expect(try await app.deleteGitHubToken("gho_x") == 422)
    #expect(try await app.get("/github/api/user", token: token).status == 200)
    #expect(try await app.deleteGitHubToken(token) == 204)
    #expect(try await app.get("/github/api/user", token: token).status == 401)
    #expect(try await app.deleteGitHubToken(token) == 422)
  }
}

@Suite("GitHub fake: sign-in on a device")
struct GitHubDeviceTests {
  private func begin(_ app: OAuth2App) async throws -> JSON {
    let reply = try await app.post(
      "/github/login/device/code", ["client_id": "usher-github", "scope": "read:user"],
      headers: acceptingJSON)
    return try reply.json()
  }

  private func poll(_ app: OAuth2App, _ begun: JSON) async throws -> JSON {
    try await app.gitHubToken(
      [
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": begun["device_code"]?.text ?? "",
      ], secret: nil)
  }

  private func decide(_ decision: String, _ app: OAuth2App, _ begun: JSON) async throws -> Reply {
    try await app.decide(
      decision, on: try await app.send(.get, "/github/login/device"),
      userCode: begun["user_code"]?.text)
  }

  @Test("a GitHub device signs in and refreshes its tokens without a client secret")
  func signIn() async throws {
    let app = try OAuth2App.gitHub()
    try await app.set(["expiringTokens": true])
    let begun = try await begin(app)
    #expect(begun["verification_uri"] == "http://127.0.0.1:1/github/login/device")
    #expect(begun["expires_in"] == 900)
    #expect(begun["interval"] == 5)
    #expect(begun["verification_uri_complete"] == nil)
    #expect(try await poll(app, begun)["error"] == "authorization_pending")
    #expect(try await decide("allow", app, begun).status == 200)
    app.wait(5)
    let tokens = try await poll(app, begun)
    #expect(tokens["scope"] == "read:user")
    let refreshed = try await app.gitHubToken(
      ["grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]?.text ?? ""],
      secret: nil)
    #expect(refreshed["access_token"] != nil)
    app.wait(5)
    #expect(try await poll(app, begun)["error"] == "incorrect_device_code")
  }

  @Test("GitHub's slow_down contains the new interval, which is five seconds longer")
  func slowDown() async throws {
    let app = try OAuth2App.gitHub()
    try await app.set(["deviceInterval": 7])
    let begun = try await begin(app)
    #expect(begun["interval"] == 7)
    let pending = try await poll(app, begun)
    #expect(pending["error"] == "authorization_pending")
    #expect(pending["interval"] == nil)
    let hurried = try await poll(app, begun)
    #expect(hurried["error"] == "slow_down")
    #expect(hurried["interval"] == 12)
  }

  @Test("GitHub answers access_denied to a denied device code and expired_token to an expired one")
  func ended() async throws {
    let app = try OAuth2App.gitHub()
    let denied = try await begin(app)
    _ = try await decide("deny", app, denied)
    #expect(try await poll(app, denied)["error"] == "access_denied")
    let late = try await begin(app)
    app.wait(900)
    #expect(try await poll(app, late)["error"] == "expired_token")
  }

  @Test("GitHub starts a device sign-in only for a known client, and its reply is a form")
  func start() async throws {
    let app = try OAuth2App.gitHub()
    let path = "/github/login/device/code"
    let reply = try await app.post(path, ["client_id": "usher-github"])
    #expect(try reply.form()["user_code"]?.count == 9)
    let refused = try await app.post(path, ["client_id": "x"])
    #expect(refused.status == 200)
    #expect(try refused.form()["error"] == "incorrect_client_credentials")
  }
}
