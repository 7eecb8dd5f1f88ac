import Crypto
import CryptoExtras
import Foundation
import Testing

@testable import UsherSandbox

/// The provider without HTTP: its rows are called as the router would.
private struct Browser {
  let provider: OIDCProvider
  let clock: SandboxClock

  init() throws {
    clock = SandboxClock { start }
    provider = try OIDCProvider(
      Workbench(users: Users(), clock: clock, mint: TokenMint(), pages: Pages()), path: "/oidc")
  }

  func send(
    _ method: Endpoint.Method, _ path: String, _ fields: [String: String] = [:],
    headers: [String: String] = [:], json: JSON? = nil
  ) async throws -> Reply {
    var call = Call(method, path, base: "http://127.0.0.1:1")
    let form = fields.map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
    call.headers = headers
    if method == .get {
      call.query = form
    } else {
      call.body = json?.encoded() ?? Array(form.utf8)
      call.headers["content-type"] = "application/x-www-form-urlencoded"
    }
    let row = (provider.endpoints + provider.controls)
      .first { $0.method == method && $0.path == path }
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

  /// From the first page through sign-in to the decision.
  func decide(_ decision: String, on page: Reply) async throws -> Reply {
    var fields = try page.hidden()
    fields.merge(["username": "alice", "password": "alice-password"]) { $1 }
    let consent = try await send(.post, "/oidc/login", fields)
    fields = try consent.hidden()
    fields["decision"] = decision
    return try await send(.post, "/oidc/consent", fields)
  }

  func tokens() async throws -> JSON {
    let code = try #require(try await decide("allow", on: authorize()).parameters()["code"])
    let reply = try await send(
      .post, "/oidc/token",
      [
        "grant_type": "authorization_code", "client_id": "usher", "code": code,
        "redirect_uri": redirectURI, "code_verifier": verifier,
      ])
    #expect(reply.status == 200)
    #expect(reply.headers["Cache-Control"] == "no-store")
    return try JSON(parsing: reply.body)
  }

  func set(_ settings: JSON) async throws {
    #expect(try await send(.post, "/_control/settings", json: settings).status == 200)
  }
}

/// A JWT taken apart.
struct Parts {
  let header: JSON
  let claims: JSON
  let signed: [UInt8]
  let signature: Data

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
    signed = Array("\(segments[0]).\(segments[1])".utf8)
    signature = bytes(segments[2])
  }

  func isSigned(by provider: OIDCProvider) async throws -> Bool {
    let key = try #require(await provider.keys.rsa.last).key().publicKey
    return key.isValidSignature(
      .init(rawRepresentation: signature), for: SHA256.hash(data: signed),
      padding: .insecurePKCS1v1_5)
  }
}

@Suite("OpenID provider")
struct ProviderTests {
  @Test("a person signs in, allows, and the client gets tokens that say who and for whom")
  func signIn() async throws {
    let browser = try Browser()
    let redirect = try await browser.decide("allow", on: browser.authorize())
    #expect(redirect.status == 303)
    let parameters = try redirect.parameters()
    #expect(parameters["state"] == "a&b")
    #expect(parameters["iss"] == "http://127.0.0.1:1/oidc")

    let tokens = try await browser.tokens()
    #expect(tokens["token_type"] == "Bearer")
    #expect(tokens["expires_in"] == 300)
    let token = try Parts(tokens["id_token"])
    #expect(token.header["kid"] == "rsa-1")
    #expect(token.claims["iss"] == "http://127.0.0.1:1/oidc")
    #expect(token.claims["aud"] == "usher")
    #expect(token.claims["sub"] == "usr_alice")
    #expect(token.claims["nonce"] == "n0")
    #expect(token.claims["iat"] == 1_800_000_000)
    #expect(token.claims["exp"] == 1_800_000_300)
    #expect(token.claims["email"] == "alice@example.com")
    #expect(try await token.isSigned(by: browser.provider))

    let access = try #require(tokens["access_token"]?.text)
    let userinfo = try await browser.send(
      .get, "/oidc/userinfo", headers: ["authorization": "Bearer \(access)"])
    #expect(try JSON(parsing: userinfo.body)["sub"] == "usr_alice")
  }

  @Test("a refresh brings an ID token without the nonce")
  func refresh() async throws {
    let browser = try Browser()
    let tokens = try await browser.tokens()
    let reply = try await browser.send(
      .post, "/oidc/token",
      [
        "grant_type": "refresh_token", "client_id": "usher",
        "refresh_token": try #require(tokens["refresh_token"]?.text),
      ])
    let token = try Parts(try JSON(parsing: reply.body)["id_token"])
    #expect(token.claims["nonce"] == nil)
    #expect(token.claims["auth_time"] == 1_800_000_000)
  }

  @Test("who denies or cancels is sent back with access_denied, state and iss")
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

  @Test("a wrong client or redirect URI shows a page and never redirects")
  func neverRedirects() async throws {
    let browser = try Browser()
    let wrong: [[String: String?]] = [
      ["client_id": "nobody"], ["client_id": nil], ["redirect_uri": nil],
      ["redirect_uri": "http://evil.example/callback"],
    ]
    for changes in wrong {
      let reply = try await browser.authorize(changes)
      #expect(reply.status == 400)
      #expect(reply.headers["Location"] == nil)
      #expect(reply.text.contains("development tool"))
    }
  }

  @Test("what else is wrong goes back to the client")
  func redirectedErrors() async throws {
    let browser = try Browser()
    let wrong: [(change: [String: String?], error: String)] = [
      (["response_type": "token"], "unsupported_response_type"),
      (["code_challenge": nil], "invalid_request"),
      (["code_challenge_method": "plain"], "invalid_request"),
      (["code_challenge_method": nil], "invalid_request"),
      (["prompt": "none"], "login_required"),
      (["request": "x"], "request_not_supported"),
      (["response_mode": "form_post"], "invalid_request"),
    ]
    for (change, error) in wrong {
      let parameters = try await browser.authorize(change).parameters()
      #expect(parameters["error"] == error)
      #expect(parameters["iss"] != nil)
    }
  }

  @Test("pages escape what comes from outside, say what they are, and a wrong password stays there")
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

  @Test("ID tokens go wrong as they are told")
  func forged() async throws {
    let browser = try Browser()
    func token(_ settings: JSON) async throws -> Parts {
      try await browser.set(["idToken": settings])
      return try await Parts(browser.tokens()["id_token"])
    }
    let unsigned = try await token(["alg": "none"])
    #expect(unsigned.header["alg"] == "none")
    #expect(unsigned.signature.isEmpty)

    let confused = try await token(["alg": "HS256-with-public-key"])
    let pem = try #require(await browser.provider.keys.rsa.last).key().publicKey.pemRepresentation
    let key = SymmetricKey(data: Data(pem.utf8))
    #expect(confused.header["alg"] == "HS256")
    #expect(
      HMAC<SHA256>.isValidAuthenticationCode(
        confused.signature, authenticating: confused.signed, using: key))

    #expect(try await !token(["badSignature": true]).isSigned(by: browser.provider))
    #expect(try await token(["alg": "ES256"]).header["kid"] == "ec-1")
    let bent = try await token([
      "kid": "nope", "claims": ["nonce": .null, "iss": "http://evil"], "header": ["crit": ["x"]],
    ])
    #expect(bent.header["kid"] == "nope")
    #expect(bent.header["crit"] == ["x"])
    #expect(bent.claims["nonce"] == nil)
    #expect(bent.claims["iss"] == "http://evil")
    #expect(try await bent.isSigned(by: browser.provider))
  }

  @Test("replies go wrong as they are told, and come right again")
  func bentReplies() async throws {
    let browser = try Browser()
    try await browser.set([
      "tokenReply": ["expires_in": .null, "token_type": "mac"],
      "authorizeResponse": ["iss": .null, "state": "other"],
      "discovery": ["issuer": "http://evil"],
    ])
    let parameters = try await browser.decide("allow", on: browser.authorize()).parameters()
    #expect(parameters["iss"] == nil)
    #expect(parameters["state"] == "other")
    let tokens = try await browser.tokens()
    #expect(tokens["expires_in"] == nil)
    #expect(tokens["token_type"] == "mac")
    let discovery = "/oidc/.well-known/openid-configuration"
    #expect(
      try await JSON(parsing: browser.send(.get, discovery).body)["issuer"] == "http://evil")
    _ = try await browser.send(.delete, "/_control/settings")
    #expect(
      try await JSON(parsing: browser.send(.get, discovery).body)["issuer"]
        == "http://127.0.0.1:1/oidc")
  }

  @Test("rotated keys sign from then on; the old ones stay unless they are to go")
  func rotation() async throws {
    let browser = try Browser()
    func kids(_ body: JSON) async throws -> [String?] {
      let reply = try await browser.send(.post, "/_control/keys/rotate", json: body)
      guard case .array(let keys)? = try JSON(parsing: reply.body)["keys"] else { return [] }
      return keys.map { $0["kid"]?.text }
    }
    #expect(try await kids([:]) == ["rsa-1", "rsa-2", "ec-1", "ec-2"])
    #expect(try await Parts(browser.tokens()["id_token"]).header["kid"] == "rsa-2")
    #expect(try await kids(["removeOld": true]) == ["rsa-3", "ec-3"])
    #expect(try await browser.send(.post, "/_control/keys/rotate", json: [1]).status == 400)
  }

  @Test("the clock moves with its setting")
  func clock() async throws {
    let browser = try Browser()
    let access = try #require(try await browser.tokens()["access_token"]?.text)
    try await browser.set(["clockOffsetSeconds": 301])
    let reply = try await browser.send(
      .get, "/oidc/userinfo", headers: ["authorization": "Bearer \(access)"])
    #expect(reply.status == 401)
    #expect(reply.headers["WWW-Authenticate"]?.contains("invalid_token") == true)
    #expect(browser.clock.now() == start.addingTimeInterval(301))
    #expect(start.httpDate == "Fri, 15 Jan 2027 08:00:00 GMT")
  }

  @Test("the token endpoint says what was wrong")
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
