import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Requests of the Freedom ID partner API")
struct FreedomPartnerCallTests {
  private static let uri = Secret("http://127.0.0.1:40001/callback/4f4f4f4f4f4f4f4f")
  private static let request = ProfileRequest(
    id: "r-1", createdAt: now, person: .phone("+77011234567"), grants: [.dateOfBirth, .phones])

  private static let calls: [FreedomPartnerCall] = [
    .link(redirectURI: uri, [.data(.dateOfBirth), .cards]), .exchange(code: Secret("code-secret")),
    .renewal(Secret("refresh-secret")), .user(token: Secret("access-secret")),
    .profile(Freedom.account, request), .profileStatus(Freedom.account, request: "r-1"),
    .create(Freedom.account, PartnerUser(phone: "+77011234567", dateOfBirth: "1990-02-28")),
    .update(Freedom.account, id: "u-1", PartnerUser(email: "a@b.kz")),
  ]

  private func render(
    _ call: FreedomPartnerCall, secret: Secret? = Secret("s3:cret"),
    token: Secret? = Secret("account-token"),
    _ change: (inout FreedomIDSettings) throws -> Void = { _ in }
  ) throws -> HTTPRequest {
    try call.render(
      RenderContext(
        provider: try Provider(Freedom.provider(change))!, credential: secret, accessToken: token,
        transition: moment()))
  }

  /// Base64 of acme:s3:cret
  private static let basic = "Basic YWNtZTpzMzpjcmV0"

  @Test("every Freedom ID partner request has the method, URL, headers and body of the contract")
  func requests() throws {
    let base = "https://passport.freedompay.kz/api/v1/oauth"
    let account = "Bearer account-token"
    let expected: [(HTTPRequest.Method, String, String, JSONValue?)] = [
      (
        .post, base + "/authorize", Self.basic,
        [
          "redirect_uri": .string(Self.uri.revealed()),
          "grants": ["read.date_of_birth", "read.cards"],
        ]
      ),
      (.post, base + "/token", Self.basic, ["authorization_code": "code-secret"]),
      (.patch, base + "/token", "Bearer refresh-secret", nil),
      (.get, base + "/user", "Bearer access-secret", nil),
      (
        .post, base + "/get-profile", account,
        [
          "request_id": "r-1", "created_at": .string(now.description), "phone": "+77011234567",
          "grants": ["read.date_of_birth", "read.phones"],
        ]
      ),
      (.get, base + "/get-profile/status", account, ["request_id": "r-1"]),
      (
        .post, "https://api.freedompay.kz/api/v1/oauth/user", account,
        ["phone": "+77011234567", "date_of_birth": "1990-02-28"]
      ),
      (
        .put, "https://api.freedompay.kz/api/v1/oauth/user", account,
        ["freedom_id": "u-1", "email": "a@b.kz"]
      ),
    ]
    for (call, (method, url, authorization, body)) in zip(Self.calls, expected) {
      let request = try render(call)
      #expect(request.method == method && request.url == url)
      let headers = Dictionary(request.headers.map { ($0.name, $0.value.revealed()) }) {
        "\($0) and \($1)"
      }
      #expect(headers["Authorization"] == authorization)
      #expect(headers["Accept"] == "application/json")
      #expect(headers["Content-Type"] == (body == nil ? nil : "application/json"))
      #expect(try request.body.map { try JSONValue(parsing: $0.revealed()) } == body)
    }
  }

  @Test("a Freedom ID profile request may name the person by freedom_id instead of by phone")
  func person() throws {
    var request = Self.request
    request.person = .freedomID("u-1")
    let body = try #require(try render(.profile(Freedom.account, request)).body)
    let members = try JSONValue(parsing: body.revealed())
    #expect(members["freedom_id"] == "u-1" && members["phone"] == nil)
  }

  @Test("Freedom ID partner requests use the configured base URLs and paths")
  func paths() throws {
    let change: (inout FreedomIDSettings) throws -> Void = {
      $0.apiBaseURL = try ProviderURL(setting: "http://127.0.0.1:2/x")
      $0.paths.token = try ProviderPath(setting: "https://t.example/t")
    }
    #expect(try render(Self.calls[2], change).url == "https://t.example/t")
    #expect(try render(Self.calls[7], change).url == "http://127.0.0.1:2/x/api/v1/oauth/user")
  }

  @Test("Freedom ID partner requests are not rendered without the client's or account's credential")
  func missing() {
    for call in Self.calls[0...1] {
      #expect(throws: UsherError.self) { try render(call, secret: nil) }
      #expect(throws: UsherError.self) { try render(call) { $0.clientID = nil } }
    }
    for call in Self.calls[4...] {
      #expect(throws: UsherError.self) { try render(call, token: nil) }
    }
  }

  @Test("only profile and user management requests of Freedom ID carry an account's token")
  func accounts() {
    let none: [AccountID?] = [nil, nil, nil, nil]
    #expect(Self.calls.map(\.account) == none + Array(repeating: Freedom.account, count: 4))
  }

  @Test("error 100004 or a 401 without a code means that Freedom ID refuses the account's token")
  func refusesToken() {
    for (status, code, isRefused) in [
      (401, 100004, true), (200, 100004, true), (401, nil, true), (401, 100001, false),
      (403, nil, false), (500, nil, false),
    ] as [(Int, Int?, Bool)] {
      guard case .reply(let reply) = Freedom.refusal(status, code) else { continue }
      for call in Self.calls {
        #expect(call.refusesToken(reply) == (isRefused && call.account != nil))
      }
    }
  }

  @Test("no Freedom ID partner call has a secret in its URL, its name or its description")
  func secrecy() throws {
    let secrets = [
      "s3:cret", "code-secret", "refresh-secret", "access-secret", "account-token", "4f4f4f4f",
    ]
    for call in Self.calls {
      let request = try render(call)
      var dumped = ""
      dump(request, to: &dumped)
      let texts = [call.name, request.url, String(reflecting: request), dumped]
      for text in texts { #expect(!secrets.contains { text.contains($0) }) }
    }
  }

  @Test("an echoed redirect URI, code or token is removed from a Freedom ID partner reply")
  func echoes() throws {
    for (call, secret) in zip(
      Self.calls,
      [Self.uri.revealed(), "code-secret", "refresh-secret", "access-secret", "account-token"])
    {
      let request = try render(call)
      let reply = HTTPReply(
        status: 422, body: Array("{\"error\": {\"message\": \"bad \(secret)\"}}".utf8))
      let shown = String(decoding: reply.withoutEchoes(of: request).body, as: UTF8.self)
      #expect(!shown.contains(secret) && shown.contains("bad …"))
    }
  }
}
