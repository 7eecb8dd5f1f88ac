import Foundation
import Testing

@testable import UsherSandbox

@Suite("OAuth 2.0 fakes over HTTP", .timeLimit(.minutes(10)))
struct OAuth2ServerTests {
  private func json(_ answer: String) throws -> JSON {
    try JSON(parsing: Array(answer.httpBody.utf8))
  }

  private func postForm(_ base: String, _ path: String, _ fields: [String: JSON]) async throws
    -> String
  {
    try await Exchange.send(
      base, "POST", path, headers: ["Content-Type: application/x-www-form-urlencoded"],
      Form.encoded(fields))
  }

  @Test("the OAuth 2.0 servers are on the index page, and the issuer cannot use their paths")
  func index() async throws {
    try await withSandbox { base in
      let page = try await Exchange.get(base, "/")
      for name in ["github", "atlassian", "slack"] {
        #expect(page.contains("base_url = &quot;\(base)/\(name)&quot;"))
        #expect(page.contains("/_control/\(name)/settings"))
      }
      #expect(page.contains(#"href="\#(base)/github/login/device""#))
    }
    for path in ["/github", "/atlassian", "/slack"] {
      var configuration = Sandbox.Configuration()
      configuration.issuerPath = path
      #expect(throws: Sandbox.ConfigurationError.self) { try Sandbox(configuration) }
    }
  }

  @Test("a person signs in at GitHub's pages over HTTP, and the app deletes the token")
  func signIn() async throws {
    try await withSandbox { base in
      let query = "client_id=usher-github&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback"
      var page = try await Exchange.get(base, "/github/login/oauth/authorize?\(query)")
      for (path, more) in [
        ("login", ["username": "alice", "password": "alice-password"]),
        ("consent", ["decision": "allow"]),
      ] as [(String, [String: JSON])] {
        let hidden = page.matches(of: /name="(transaction|csrf)" value="([^"]*)"/)
          .map { (String($0.1), JSON.string(String($0.2))) }
        let fields = Dictionary(uniqueKeysWithValues: hidden).merging(more) { $1 }
        page = try await postForm(base, "/github/\(path)", fields)
      }
      let code = String(try #require(page.firstMatch(of: /callback\?code=([^&\s]+)/)).1)
      let reply = try await postForm(
        base, "/github/login/oauth/access_token",
        [
          "client_id": "usher-github", "client_secret": "s3cret-github", "code": .string(code),
        ])
      let token = String(try #require(reply.firstMatch(of: /access_token=(gho_[^&]+)/)).1)
      let anonymous = try await Exchange.send(
        base, "GET", "/github/api/user", headers: ["Authorization: Bearer \(token)"])
      #expect(anonymous.hasPrefix("HTTP/1.1 403"))
      let basic = Data("usher-github:s3cret-github".utf8).base64EncodedString()
      let deleted = try await Exchange.send(
        base, "DELETE", "/github/api/applications/usher-github/token",
        headers: ["User-Agent: test", "Authorization: Basic \(basic)"],
        #"{"access_token":"\#(token)"}"#)
      #expect(deleted.hasPrefix("HTTP/1.1 204"))
      let log = try await Exchange.get(base, "/_control/requests")
      for name in [
        "github_authorize", "github_login", "github_consent", "github_token", "github_user",
        "github_revocation",
      ] { #expect(log.contains("\"endpoint\":\"\(name)\"")) }
      for secret in [code, token, "s3cret"] { #expect(!log.contains(secret)) }
    }
  }

  @Test("a fault of one grant type and the request log find the grant type in a JSON body, too")
  func grantTypeInJSON() async throws {
    try await withSandbox { base in
      let rule =
        #"{"endpoint":"atlassian_token","grantType":"refresh_token","fault":{"status":503}}"#
      #expect(try await Exchange.post(base, "/_control/faults", rule).hasPrefix("HTTP/1.1 201"))
      func token(_ grantType: String) async throws -> String {
        try await Exchange.post(
          base, "/atlassian/oauth/token",
          #"{"grant_type":"\#(grantType)","client_id":"x","refresh_token":"canary"}"#)
      }
      #expect(try await token("authorization_code").hasPrefix("HTTP/1.1 401"))
      #expect(try await token("refresh_token").hasPrefix("HTTP/1.1 503"))
      let log = try json(
        await Exchange.get(base, "/_control/requests?grantType=refresh_token"))
      #expect(log["count"] == 1)
      #expect(!"\(log)".contains("canary"))
    }
  }

  @Test("settings of an OAuth 2.0 server change and reset by control calls, or are refused by name")
  func settings() async throws {
    try await withSandbox { base in
      for name in ["github", "atlassian", "slack"] {
        let path = "/_control/\(name)/settings"
        let changed = try json(await Exchange.post(base, path, #"{"codeSeconds":7}"#))
        #expect(changed["codeSeconds"] == 7)
        let reset = try json(await Exchange.send(base, "DELETE", path))
        #expect(reset["codeSeconds"] != 7)
        #expect(try json(await Exchange.get(base, path)) == reset)
        for wrong in [#"{"codeSeconds":-1}"#, #"{"nope":1}"#] {
          #expect(try await Exchange.post(base, path, wrong).hasPrefix("HTTP/1.1 400"))
        }
        let revoked = try json(await Exchange.send(base, "POST", "/_control/\(name)/revokeAll"))
        #expect(revoked["ok"]?.isTrue == true)
      }
    }
  }
}
