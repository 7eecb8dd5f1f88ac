import Foundation
import Testing

@testable import UsherSandbox

/// A stand-in for a well-known OpenID provider without HTTP, with helpers that act as the app and
/// the person.
private struct ServiceApp {
  let service: OIDCService
  let provider: OIDCBackend

  init(_ service: OIDCService) throws {
    self.service = service
    provider = OIDCBackend(try BackendContext.test(), as: service)
  }

  /// Calls the endpoint of a path below the issuer's.
  func send(
    _ method: Endpoint.Method, _ path: String, _ fields: [String: String] = [:],
    token: String? = nil
  ) async throws -> Reply {
    try await send(method, whole: service.path + path, fields, token: token)
  }

  func send(
    _ method: Endpoint.Method, whole path: String, _ fields: [String: String] = [:],
    token: String? = nil
  ) async throws -> Reply {
    var call = EndpointCall(method, path, base: "http://127.0.0.1:1")
    let form = Form.encoded(fields.mapValues { .string($0) })
    if method == .get {
      call.query = form
    } else {
      call.body = Array(form.utf8)
      call.headers["content-type"] = "application/x-www-form-urlencoded"
    }
    call.headers["authorization"] = token.map { "Bearer \($0)" }
    let row = provider.endpoints.first { $0.method == method && $0.path == path }
    return await (try #require(row, "there is no \(path)")).handle(call)
  }

  private var redirectURI: String {
    service.client.redirectURIs[0].replacing("/callback", with: ":5555/callback")
  }

  func page(_ changes: [String: String?] = [:]) async throws -> Reply {
    var fields: [String: String?] = [
      "client_id": service.client.id, "redirect_uri": redirectURI, "response_type": "code",
      "scope": "openid email", "state": "s0", "nonce": "n0", "code_challenge": challenge,
      "code_challenge_method": "S256",
    ]
    fields.merge(changes) { $1 }
    return try await send(.get, "/authorize", fields.compactMapValues(\.self))
  }

  private func decide(on page: Reply, userCode: String? = nil) async throws -> Reply {
    var fields = try page.hidden()
    fields.merge(["username": "alice", "password": "alice-password"]) { $1 }
    fields["user_code"] = userCode
    fields = try await send(.post, "/login", fields).hidden()
    fields["decision"] = "allow"
    return try await send(.post, "/consent", fields)
  }

  /// Calls the token endpoint as the service's client.
  func token(_ fields: [String: String]) async throws -> Reply {
    var fields = fields.merging(["client_id": service.client.id]) { own, _ in own }
    fields["client_secret"] = fields["client_secret"] ?? service.client.secret
    return try await send(.post, "/token", fields)
  }

  func refresh(_ tokens: JSON) async throws -> Reply {
    try await token([
      "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]?.text ?? "",
    ])
  }

  /// Signs in with the browser, and returns the tokens.
  func signIn(_ changes: [String: String?] = [:]) async throws -> JSON {
    let answer = try await decide(on: page(changes)).parameters()
    #expect(Set(answer.keys) == ["code", "state"])
    return try await token([
      "grant_type": "authorization_code", "code": answer["code"] ?? "",
      "redirect_uri": redirectURI, "code_verifier": verifier,
    ]).json()
  }

  /// Signs in with a device code, and returns the tokens.
  func signInOnDevice() async throws -> JSON {
    var fields = ["client_id": service.client.id, "scope": "openid"]
    fields["client_secret"] = service.client.secret
    let start = try await send(.post, "/device_authorization", fields).json()
    let page = try await send(.get, "/device")
    _ = try await decide(on: page, userCode: start["user_code"]?.text)
    return try await token([
      "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
      "device_code": start["device_code"]?.text ?? "",
    ]).json()
  }

  func accepts(_ tokens: JSON) async throws -> Bool {
    try await send(.get, "/userinfo", token: tokens["access_token"]?.text).status == 200
  }

  func metadata() async throws -> JSON {
    try await send(.get, "/.well-known/openid-configuration").json()
  }
}

@Suite("Stand-ins for well-known OpenID providers")
struct OIDCServiceTests {
  @Test(
    "the metadata of a stand-in names the endpoints that the service has, and no others",
    arguments: [
      ("google", "revocation_endpoint device_authorization_endpoint"),
      ("microsoft", "end_session_endpoint device_authorization_endpoint"),
      ("gitlab", "revocation_endpoint introspection_endpoint"),
      ("codeberg", "introspection_endpoint device_authorization_endpoint"),
      ("huggingface", "device_authorization_endpoint"),
    ])
  func metadata(name: String, endpoints: String) async throws {
    let app = try ServiceApp(#require(OIDCService.all.first { $0.name == name }))
    guard case .object(let members) = try await app.metadata() else { return }
    let always = ["authorization_endpoint", "token_endpoint", "userinfo_endpoint"]
    let named = Set(members.keys.filter { $0.hasSuffix("_endpoint") })
    #expect(named == Set(always + endpoints.split(separator: " ").map(String.init)))
    #expect(members["issuer"] == .string("http://127.0.0.1:1\(app.service.path)"))
  }

  @Test("Google gives a refresh token for access_type=offline at the first or a repeated consent")
  func googleConsent() async throws {
    let app = try ServiceApp(.google)
    #expect(try await app.signIn()["refresh_token"] == nil)
    let offline = ["access_type": "offline"] as [String: String?]
    #expect(try await app.signIn(offline)["refresh_token"] == nil)
    let asked = try await app.signIn(offline.merging(["prompt": "consent"]) { $1 })
    #expect(asked["refresh_token"] != nil)
    let other = try ServiceApp(.google)
    #expect(try await other.signIn(offline)["refresh_token"] != nil)
    #expect(asked["scope"] == "openid https://www.googleapis.com/auth/userinfo.email")
    let again = try await app.refresh(asked).json()
    #expect(again["access_token"] != nil && again["refresh_token"] == nil)
  }

  @Test("Google shows a page for the scope offline_access, and needs the client secret")
  func googleRefusals() async throws {
    let app = try ServiceApp(.google)
    #expect(try await app.page(["scope": "openid offline_access"]).isErrorPage)
    let request = ["client_id": "usher-google", "grant_type": "refresh_token"]
    let refused = try await app.send(.post, "/token", request)
    #expect(refused.status == 400)
    #expect(try refused.json()["error_description"] == "client_secret is missing.")
  }

  @Test("Google ends the grant with any token, and refuses a token that is not valid any more")
  func googleRevocation() async throws {
    let app = try ServiceApp(.google)
    let tokens = try await app.signIn(["access_type": "offline", "prompt": "consent"])
    let request = ["token": tokens["access_token"]?.text ?? ""]
    #expect(try await app.send(.post, "/revoke", request).status == 200)
    let refused = try await app.refresh(tokens)
    #expect(
      try refused.json() == [
        "error": "invalid_grant", "error_description": "Token has been expired or revoked.",
      ])
    let again = try await app.send(.post, "/revoke", request)
    #expect(again.status == 400 && again.error == "invalid_token")
  }

  @Test("Microsoft returns a new refresh token at each refresh, and the old one stays valid")
  func microsoft() async throws {
    let app = try ServiceApp(.microsoft)
    #expect(try await app.signIn()["refresh_token"] == nil)
    let first = try await app.signIn(["scope": "openid offline_access"])
    #expect(first["scope"] == "openid")
    for _ in 0..<2 {
      let next = try await app.refresh(first).json()
      #expect(next["refresh_token"] != first["refresh_token"])
      #expect(try await app.refresh(next).status == 200)
    }
    let claims = try RequestParts(first["id_token"]).claims
    #expect(claims["at_hash"] == nil && claims["ver"] == "2.0" && claims["tid"] != nil)
    _ = await app.provider.revokeAll(EndpointCall(.post, "", base: ""))
    let refused = try await app.refresh(first).json()
    #expect(refused["error_description"]?.text?.hasPrefix("AADSTS50173: ") == true)
  }

  @Test("Microsoft's metadata for all directories has a template as its issuer")
  func microsoftDirectories() async throws {
    let app = try ServiceApp(.microsoft)
    let path = "/microsoft/common/v2.0/.well-known/openid-configuration"
    let document = try await app.send(.get, whole: path).json()
    #expect(document["issuer"] == "http://127.0.0.1:1/microsoft/{tenantid}/v2.0")
    #expect(document["token_endpoint"] != nil)
  }

  @Test("a GitLab refresh ends the earlier tokens, whose reuse leaves the new ones valid")
  func gitLab() async throws {
    let app = try ServiceApp(.gitLab)
    let first = try await app.signIn()
    #expect(first["expires_in"] == 7200 && first["created_at"] == 1_800_000_000)
    let second = try await app.refresh(first).json()
    #expect(try await !app.accepts(first))
    #expect(try await app.refresh(first).error == "invalid_grant")
    #expect(try await app.accepts(second))
    let request = [
      "token": second["access_token"]?.text ?? "", "client_id": "usher-gitlab",
      "client_secret": "s3cret-gitlab",
    ]
    #expect(try await app.send(.post, "/revoke", request).status == 200)
    #expect(try await app.refresh(second).error == "invalid_grant")
    #expect(try await app.send(.post, "/revoke", request).status == 200)
    let unknown = try await app.page(["scope": "openid offline_access"]).parameters()
    #expect(unknown["error"] == "invalid_scope")
  }

  @Test("Codeberg refuses a used refresh token as unauthorized_client, and has one for each person")
  func codeberg() async throws {
    let app = try ServiceApp(.codeberg)
    let first = try await app.signIn()
    #expect(first["scope"] == nil && first["token_type"] == "bearer")
    let second = try await app.refresh(first).json()
    #expect(try await app.refresh(first).error == "unauthorized_client")
    #expect(try await app.accepts(first))
    let other = try await app.signIn()
    #expect(try await app.refresh(second).error == "unauthorized_client")
    _ = await app.provider.revokeAll(EndpointCall(.post, "", base: ""))
    #expect(try await app.refresh(other).error == "invalid_grant")
    let wrong = try await app.token([
      "grant_type": "refresh_token", "refresh_token": "x", "client_secret": "x",
    ])
    #expect(wrong.status == 400 && wrong.error == "invalid_client")
  }

  @Test("Hugging Face has a refresh token for a device, and none for a sign-in in the browser")
  func huggingFace() async throws {
    let app = try ServiceApp(.huggingFace)
    let browser = try await app.signIn()
    #expect(browser["expires_in"] == 28_800 && browser["refresh_token"] == nil)
    let device = try await app.signInOnDevice()
    #expect(device["refresh_token"] != nil)
    #expect(try await app.refresh(device).status == 200)
  }
}
