import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// One grant yields a token for each of its audiences (RFC 8707).
@Suite("Tokens for several audiences of one grant", .mayBlock, .timeLimit(.minutes(10)))
struct AudienceTests {
  private static let mail = "https://mail.example.com"
  private static let files = "https://files.example.com/v1"

  let fixture: OIDCFixture

  init() throws {
    fixture = try OIDCFixture(
      provider: """
        audience_parameter = "resource"
        audiences = ["\(Self.mail)", "\(Self.files)"]
        """)
  }

  private func params(_ audience: String?, _ more: [String: JSONValue] = [:]) -> JSONValue {
    var params: [String: JSONValue] = ["provider": "demo"]
    params["audience"] = audience.map { .string($0) }
    return .object(params.merging(more) { $1 })
  }

  private func token(
    _ audience: String?, _ more: [String: JSONValue] = [:]
  ) throws -> JSONValue {
    try fixture.token(params(audience, more))
  }

  /// Returns the audience of an access token according to the provider; nil without one.
  private func audience(
    _ token: JSONValue, at fixture: OIDCFixture? = nil
  ) throws -> JSONValue? {
    let reply = try Web.post(
      "\((fixture ?? self.fixture).sandbox.issuer)/introspect",
      form: [
        "token": token["accessToken"]?.stringValue ?? "", "client_id": "usher-confidential",
        "client_secret": "s3cret:with/odd+chars",
      ])
    let members = try JSONValue(parsing: reply.body)
    #expect(members["active"] == true)
    return members["aud"]
  }

  @Test("each audience has a token of its own, which is refreshed once and then kept")
  func separate() throws {
    try fixture.app.signIn()
    try fixture.forgetRequests()
    let tokens = try [nil, Self.mail, Self.files].map { try token($0) }
    #expect(Set(tokens.map { $0["accessToken"] }).count == 3)
    #expect(try tokens.map { try audience($0) } == [nil, .string(Self.mail), .string(Self.files)])
    #expect(try fixture.refreshes == 2)
    let again = try [nil, Self.mail, Self.files].map { try token($0) }
    #expect(again == tokens)
    #expect(try fixture.refreshes == 2)
    let listed = try fixture.app.call("token.list", ["provider": "demo"])["tokens"]?.arrayValue
    let audiences = (listed ?? []).filter { $0["token"]?["field"] == nil }
      .map { $0["token"]?["audience"]?.stringValue ?? "" }
    #expect(Set(audiences) == ["", Self.mail, Self.files])
  }

  @Test("the tokens for all audiences are the same after a restart")
  func restarted() throws {
    try fixture.app.signIn()
    let before = try token(Self.mail)
    let fixture = try fixture.restarted()
    #expect(try fixture.token(params(Self.mail)) == before)
    #expect(try fixture.refreshes == 1)
  }

  @Test("a hundred simultaneous calls for two audiences cause one refresh for each")
  func hundred() throws {
    try fixture.app.signIn()
    try fixture.forgetRequests()
    let clients = try (0..<100).map { _ in try fixture.daemon.client() }
    for (number, client) in clients.enumerated() {
      let audience = number.isMultiple(of: 2) ? Self.mail : Self.files
      let call = JSONValue.object([
        "jsonrpc": "2.0", "id": 1, "method": "token.get", "params": params(audience),
      ])
      try client.send(String(decoding: call.encoded(), as: UTF8.self))
    }
    let tokens = try clients.map { try $0.receive()?["result"] ?? .null }
    #expect(try fixture.refreshes == 2)
    for (number, token) in tokens.enumerated() {
      let expected = tokens[number % 2]
      #expect(token["accessToken"] != nil && token == expected)
    }
    #expect(try audience(tokens[0]) == .string(Self.mail))
    #expect(try audience(tokens[1]) == .string(Self.files))
  }

  @Test("an audience that the grant lacks gives consent_required, which next resolves")
  func added() throws {
    let other = "https://calendar.example.com"
    try fixture.app.signIn()
    let kept = try token(Self.mail)
    let error = try fixture.app.error(of: "token.get", params(other))
    #expect(error.data["reason"] == "consent_required")
    #expect(error.data["field"] == "audience")
    #expect(error.data["provider"]?["code"] == "invalid_target")
    let next = try #require(error.data["next"]?["params"])
    #expect(
      next["params"]?["audiences"] == [
        .string(Self.mail), .string(Self.files), .string(other),
      ])
    // The refusal does not harm the grant.
    #expect(try token(Self.mail) == kept)
    let flow = try fixture.app.startFlow(
      "demo", next["kind"]?.stringValue ?? "", params: next["params"] ?? [:])
    try Person.signIn(at: flow.url)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    for audience in [Self.mail, Self.files, other] {
      #expect(try self.audience(token(audience)) == .string(audience))
    }
    #expect(try fixture.accounts.count == 1)
  }

  @Test("a provider that has refused eight audiences is not asked for a ninth at once")
  func bounded() throws {
    try fixture.app.signIn()
    try fixture.forgetRequests()
    let reasons = try (1...12).map { number in
      try fixture.app.error(of: "token.get", params("https://x\(number).example"))
        .data["reason"]?.stringValue
    }
    #expect(reasons.prefix(8).allSatisfy { $0 == "consent_required" })
    #expect(reasons.dropFirst(8).allSatisfy { $0 == "rate_limited" })
    #expect(try fixture.refreshes == 8)
    #expect(try token(nil)["accessToken"] != nil)
  }

  @Test(
    "an audience that cannot be requested is refused with field audience",
    arguments: [
      ("files", nil), ("https://a.example#x", nil), ("", nil), ("https://a.example/ b", nil),
      (mail, "idToken"),
    ] as [(String, String?)])
  func malformed(audience: String, field: String?) throws {
    try fixture.app.signIn()
    let more: [String: JSONValue] = field.map { ["field": .string($0)] } ?? [:]
    let error = try fixture.app.error(of: "token.get", params(audience, more))
    #expect(error.data["reason"] == "invalid_params")
    #expect(error.data["field"] == "audience")
  }

  @Test("at a provider without audience_parameter, audiences are refused everywhere")
  func unsupported() throws {
    let fixture = try OIDCFixture()
    try fixture.app.signIn()
    let error = try fixture.app.error(of: "token.get", params(Self.mail))
    #expect(error.data["field"] == "audience")
    let start = try fixture.app.error(
      of: "flow.start",
      ["provider": "demo", "kind": "authorize", "params": ["audiences": [.string(Self.mail)]]])
    #expect(start.data["field"] == "params.audiences")
  }

  @Test("a provider with audience_parameter = audience gets that parameter")
  func audienceParameter() throws {
    let fixture = try OIDCFixture(
      provider: """
        audience_parameter = "audience"
        audience = "mail"
        audiences = ["files"]
        """)
    try fixture.app.signIn()
    #expect(try audience(fixture.token(params("files")), at: fixture) == "files")
    #expect(try audience(fixture.token(params("mail")), at: fixture) == "mail")
  }

  @Test("a demand for scope is compared with the scope of the audience's own token")
  func scopeOfAudience() throws {
    try fixture.app.signIn()
    try fixture.set(["tokenReply": ["scope": "openid"]])
    #expect(try token(Self.mail)["scope"] == "openid")
    try fixture.set(["tokenReply": [:]])
    let challenge: JSONValue = #"Bearer error="insufficient_scope", scope="profile""#
    let error = try fixture.app.error(
      of: "token.get", params(Self.mail, ["challenge": challenge]))
    #expect(error.data["reason"] == "consent_required")
    let next = try #require(error.data["next"]?["params"])
    #expect(next["params"]?["audiences"] == nil, "the configured audiences are requested anyway")
    let flow = try fixture.app.startFlow(
      "demo", next["kind"]?.stringValue ?? "", params: next["params"] ?? [:])
    try Person.signIn(at: flow.url)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
    let token = try token(Self.mail, ["challenge": challenge])
    #expect(token["scope"]?.stringValue?.contains("profile") == true)
    // The token without an audience has the whole scope.
    #expect(try self.token(nil, ["challenge": challenge])["accessToken"] != nil)
  }

  @Test("a device flow names the audiences, too")
  func device() throws {
    let clock = MovableClock()
    let fixture = try OIDCFixture(clock, provider: "audience_parameter = \"resource\"")
    let flow = try fixture.app.startFlow(
      "demo", "device", params: ["audiences": [.string(Self.mail), .string(Self.files)]])
    _ = try Person.decide(
      at: flow["step"]?["verificationURI"]?.stringValue ?? "",
      userCode: flow["step"]?["userCode"]?.stringValue)
    #expect(try fixture.app.finished(flow, moving: clock)["status"] == "succeeded")
    #expect(
      try audience(fixture.token(params(Self.files)), at: fixture) == .string(Self.files))
  }

  @Test("an authorization request that is pushed names each audience once")
  func pushed() throws {
    let fixture = try OIDCFixture(
      provider: """
        audience_parameter = "resource"
        pushed_requests = "always"
        audiences = ["\(Self.mail)", "\(Self.files)"]
        """)
    try fixture.app.signIn()
    #expect(
      try audience(fixture.token(params(Self.files)), at: fixture) == .string(Self.files))
  }
}

@Suite("The right to tokens for an audience", .mayBlock, .timeLimit(.minutes(10)))
struct AudienceRightTests {
  private func reasons(_ line: String) throws -> [String?] {
    let fixture = try OIDCFixture(
      provider: """
        audience_parameter = "resource"
        audiences = ["https://a.example", "https://b.example"]
        """,
      limits: """
        [[client]]
        name = "till"
        match = { user = \(getuid()) }
        allow = ["*"]
        \(line)
        """)
    #expect(try fixture.attempt()["status"] == "succeeded")
    return try [nil, "https://a.example", "https://b.example"].map { audience in
      var params: [String: JSONValue] = ["provider": "demo"]
      params["audience"] = audience.map { .string($0) }
      let reply = try fixture.app.reply(to: "token.get", .object(params))
      return reply["error"]?["data"]?["reason"]?.stringValue
    }
  }

  @Test("a client rule with audiences allows those only, and without one only if it says so")
  func limited() throws {
    let denied = "permission_denied"
    #expect(try reasons("") == [nil, nil, nil])
    #expect(try reasons(#"audiences = ["https://a.example"]"#) == [denied, nil, denied])
    #expect(try reasons(#"audiences = ["", "https://b.example"]"#) == [nil, denied, nil])
    #expect(try reasons("audiences = []") == [denied, denied, denied])
  }

  @Test("a client rule with audiences allows no sign-in that names others")
  func signIn() throws {
    let fixture = try OIDCFixture(
      provider: "audience_parameter = \"resource\"",
      limits: """
        [[client]]
        name = "till"
        match = { user = \(getuid()) }
        allow = ["*"]
        audiences = ["", "https://a.example"]
        """)
    for (audience, reason) in [("https://a.example", nil), ("https://b.example", "denied")] {
      let reply = try fixture.app.reply(
        to: "flow.start",
        [
          "provider": "demo", "kind": "authorize",
          "params": ["audiences": ["https://a.example", .string(audience)]],
        ])
      let error = reply["error"]?["data"]?["reason"]?.stringValue
      #expect(error == reason.map { _ in "permission_denied" })
    }
  }
}
