import Foundation
import Testing

@testable import UsherSandbox

/// The OIDC provider without HTTP: calls its endpoint handlers as the router does.
private struct Browser {
  let provider: OIDCBackend

  init() throws { provider = try OIDCBackend(BackendContext.test(), path: "/oidc") }

  func send(
    _ method: Endpoint.Method, _ path: String, _ fields: [String: String] = [:]
  ) async throws -> Reply {
    var call = EndpointCall(method, path, base: "http://127.0.0.1:1")
    let form = fields.map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
    if method == .get {
      call.query = form
    } else {
      call.body = Array(form.utf8)
      call.headers["content-type"] = "application/x-www-form-urlencoded"
    }
    let row = provider.endpoints.first { $0.method == method && $0.path == path }
    return await (try #require(row)).handle(call)
  }

  func authorize(_ changes: [String: String?] = [:]) async throws -> Reply {
    var fields: [String: String?] = [
      "client_id": "usher", "redirect_uri": redirectURI, "response_type": "code",
      "scope": "openid profile email offline_access", "state": "a&b", "nonce": "n0",
      "code_challenge": challenge, "code_challenge_method": "S256",
    ]
    fields.merge(changes) { $1 }
    return try await send(.get, "/oidc/authorize", fields.compactMapValues { $0 })
  }

  /// Signs in on the given login page and submits `decision` on the consent page.
  func decide(_ decision: String, on page: Reply) async throws -> Reply {
    var fields = try page.hidden()
    fields.merge(["username": "alice", "password": "alice-password"]) { $1 }
    let consent = try await send(.post, "/oidc/login", fields)
    fields = try consent.hidden()
    fields["decision"] = decision
    return try await send(.post, "/oidc/consent", fields)
  }
}

/// The decoded header and claims of a JWT.
struct RequestParts {
  let header: JSON
  let claims: JSON

  init(_ token: JSON?) throws {
    let segments = try #require(token?.text).split(
      separator: ".", omittingEmptySubsequences: false)
    try #require(segments.count == 3)
    func bytes(_ text: Substring) -> Data {
      let plain = text.replacing("-", with: "+").replacing("_", with: "/")
      let padding = String(repeating: "=", count: (4 - plain.count % 4) % 4)
      return Data(base64Encoded: plain + padding) ?? Data()
    }
    header = try JSON(parsing: bytes(segments[0]))
    claims = try JSON(parsing: bytes(segments[1]))
  }
}

@Suite("OpenID provider of the sandbox")
struct ProviderTests {
  @Test("a denied or cancelled sign-in redirects to the client with the error access_denied")
  func denied() async throws {
    let browser = try Browser()
    let denied = try await browser.decide("deny", on: browser.authorize()).parameters()
    #expect(denied["error"] == "access_denied")
    #expect(denied["state"] == "a&b")
    #expect(denied["iss"] == "http://127.0.0.1:1/oidc")
    var fields = try await browser.authorize().hidden()
    fields["action"] = "cancel"
    let cancelled = try await browser.send(.post, "/oidc/login", fields)
    #expect(try cancelled.parameters()["error"] == "access_denied")
  }

  @Test(
    "an authorization request with a wrong client, redirect URI or object gets an error page")
  func neverRedirects() async throws {
    let browser = try Browser()
    let wrong: [[String: String?]] = [
      ["client_id": "nobody"], ["client_id": nil], ["redirect_uri": nil],
      ["redirect_uri": "http://evil.example/callback"], ["request": "x"], ["request_uri": "x"],
    ]
    for changes in wrong {
      let reply = try await browser.authorize(changes)
      #expect(reply.status == 400)
      #expect(reply.headers["Location"] == nil)
      #expect(reply.text.contains("development tool"))
    }
  }

  @Test("other invalid authorization requests redirect to the client with the OAuth error and iss")
  func redirectedErrors() async throws {
    let browser = try Browser()
    let wrong: [(change: [String: String?], error: String)] = [
      (["response_type": "token"], "unsupported_response_type"),
      (["code_challenge": nil], "invalid_request"),
      (["code_challenge_method": "plain"], "invalid_request"),
      (["code_challenge_method": nil], "invalid_request"),
      (["prompt": "none"], "login_required"),
      (["response_mode": "fragment"], "invalid_request"),
    ]
    for (change, error) in wrong {
      let parameters = try await browser.authorize(change).parameters()
      #expect(parameters["error"] == error)
      #expect(parameters["iss"] != nil)
    }
  }

  @Test(
    "the login page escapes its input, states that it is not real, and reports a wrong password")
  func pages() async throws {
    let browser = try Browser()
    let page = try await browser.authorize(["login_hint": "\"><script>"])
    #expect(!page.text.contains("<script>"))
    #expect(page.text.contains("not a real"))
    var fields = try page.hidden()
    fields.merge(["username": "alice", "password": "wrong"]) { $1 }
    let again = try await browser.send(.post, "/oidc/login", fields)
    #expect(again.status == 403)
    #expect(again.text.contains("is wrong"))
    fields["csrf"] = "cs_x"
    #expect(try await browser.send(.post, "/oidc/login", fields).status == 400)
  }

  @Test(
    "with refreshTokensNeedOfflineAccessType, only access_type=offline grants a refresh token",
    arguments: [
      (nil, "profile offline_access", false), ("online", "profile offline_access", false),
      ("offline", "profile", true),
    ] as [(String?, String, Bool)])
  func offlineAccessType(_ accessType: String?, _ scope: String, _ isGranted: Bool) async throws {
    let browser = try Browser()
    var settings = OIDCBackendSettings()
    settings.refreshTokensNeedOfflineAccessType = true
    await browser.provider.apply(settings)
    let page = try await browser.authorize(["access_type": accessType, "scope": scope])
    let tokens = try await browser.send(
      .post, "/oidc/token",
      [
        "client_id": "usher", "grant_type": "authorization_code", "redirect_uri": redirectURI,
        "code": try await browser.decide("allow", on: page).parameters()["code"] ?? "",
        "code_verifier": verifier,
      ]
    ).json()
    #expect(tokens["access_token"] != nil)
    #expect((tokens["refresh_token"] != nil) == isGranted)
  }

  @Test("the token endpoint answers each malformed request with the matching OAuth error")
  func tokenErrors() async throws {
    let browser = try Browser()
    func error(_ fields: [String: String]) async throws -> String? {
      try await browser.send(.post, "/oidc/token", fields).error
    }
    #expect(try await error(["client_id": "usher"]) == "invalid_request")
    #expect(try await error(["client_id": "x"]) == "invalid_client")
    #expect(
      try await error(["client_id": "usher", "grant_type": "password"])
        == "unsupported_grant_type")
    #expect(
      try await error(["client_id": "usher", "grant_type": "refresh_token"])
        == "invalid_request")
    #expect(
      try await error([
        "client_id": "usher", "grant_type": "authorization_code", "code": "x",
        "redirect_uri": "x", "code_verifier": "short",
      ]) == "invalid_request")
  }
}
