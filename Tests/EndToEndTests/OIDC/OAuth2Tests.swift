import JSONRPC
import Testing
import UsherTestKit

/// The presets of type `oauth2` at stand-ins of their services, which differ from the presets only
/// in their addresses.
@Suite("Servers without discovery and ID tokens", .mayBlock, .timeLimit(.minutes(10)))
struct OAuth2Tests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  private static let services = ["github", "atlassian", "slack"]
  private static let secrets = [
    "github": "s3cret-github", "atlassian": "s3cret:atlassian/+=", "slack": "s3cret-slack",
  ]

  /// The paths whose hosts are not that of `base_url`.
  private static let paths = [
    "github": """
    paths.userinfo = "/api/user"
    paths.revocation = "/api/applications/{client_id}/token"
    """,
    "atlassian": "paths.userinfo = \"/me\"",
  ]

  init() throws {
    fixture = try OIDCFixture(clock, limits: "force_refresh_seconds = 1") { sandbox in
      Self.services.map { service in
        """
        [[provider]]
        name = "\(service)"
        preset = "\(service)"
        base_url = "\(sandbox.base)/\(service)"
        client_id = "usher-\(service)"
        client_credential = "\(service)-secret"
        \(Self.paths[service] ?? "")

        """
      }.joined()
    }
    let admin = try fixture.daemon.admin()
    for (service, secret) in Self.secrets {
      _ = try admin.call(
        "credential.set", ["name": .string("\(service)-secret"), "value": .string(secret)])
    }
  }

  private func set(_ service: String, _ settings: JSONValue) throws {
    try fixture.sandbox.control("POST", "\(service)/settings", settings)
  }

  private func account(_ service: String) throws -> JSONValue {
    try fixture.accounts.first { $0["provider"] == .string(service) } ?? .null
  }

  private func token(_ service: String, force: Bool = false) throws -> JSONValue {
    try fixture.token(["provider": .string(service), "forceRefresh": .bool(force)])
  }

  /// Returns the status with which the service's API answers for an access token.
  private func status(_ service: String, _ token: JSONValue) throws -> JSONValue? {
    let place = ["github": "api/user", "atlassian": "me", "slack": "api/auth.test"][service] ?? ""
    let reply = try Web.send(
      "GET", "\(fixture.sandbox.base)/\(service)/\(place)",
      headers: [
        "Authorization": "Bearer \(token["accessToken"]?.stringValue ?? "")", "User-Agent": "test",
      ])
    return service == "slack"
      ? try JSONValue(parsing: reply.body)["ok"] : .bool(reply.status == 200)
  }

  @Test(
    "a person signs in with the browser, and programs get a token that the service accepts",
    arguments: services)
  func signIn(service: String) throws {
    try fixture.app.signIn(service)
    let account = try account(service)
    let profile = account["profile"] ?? .null
    #expect(account["subject"]?.stringValue?.isEmpty == false)
    #expect(
      service == "atlassian"
        ? profile["email"]?.stringValue?.contains("alice") == true
        : profile["preferred_username"]?.stringValue?.contains("alice") == true, "\(profile)")
    let token = try token(service)
    #expect(token["tokenType"]?.stringValue?.lowercased() == "bearer")
    #expect(token["idToken"] == nil && token["issuer"] == nil)
    #expect(token["scope"]?.stringValue?.contains(",") == false)
    #expect(try status(service, token) == true)
    for secret in Self.secrets.values { #expect(!fixture.daemon.log.contains(secret)) }
  }

  @Test("the same person has one account at a service, another person another", arguments: services)
  func subjects(service: String) throws {
    for user in ["alice", "bob", "alice"] { try fixture.app.signIn(service, user: user) }
    #expect(try fixture.accounts.count == 2)
  }

  @Test("an audience is refused without advice to use a setting that the type does not have")
  func audience() throws {
    try fixture.app.signIn("github")
    let params: JSONValue = ["provider": "github", "audience": "https://api.example.com"]
    let error = try fixture.app.error(of: "token.get", params)
    let start = try fixture.app.error(
      of: "flow.start",
      [
        "provider": "github", "kind": "authorize",
        "params": ["audiences": ["https://api.example.com"]],
      ])
    for (error, field) in [(error, "audience"), (start, "params.audiences")] {
      #expect(error.data["field"] == .string(field))
      let message = error["message"]?.stringValue ?? ""
      #expect(message.contains("type oauth2"), "\(message)")
      #expect(!message.contains("audience_parameter"), "\(message)")
    }
  }

  @Test("a person who denies access ends the sign-in", arguments: services)
  func denied(service: String) throws {
    let flow = try fixture.app.startFlow(service)
    try Person.signIn(at: flow.url, allow: false)
    let end = try fixture.app.finished(flow)
    #expect(end["failure"]?["provider"]?["code"] == "access_denied")
  }

  @Test("each refresh replaces the refresh token of the services that do so", arguments: services)
  func rotation(service: String) throws {
    if service != "atlassian" { try set(service, ["expiringTokens": true]) }
    try fixture.app.signIn(service)
    var tokens = [try token(service)]
    for _ in 0..<3 {
      try clock.advance(by: 2)
      tokens.append(try token(service, force: true))
    }
    #expect(Set(tokens.map { $0["accessToken"] }).count == 4)
    #expect(try status(service, tokens[3]) == true)
  }

  @Test("a refresh token that the service has ended gives reauthentication_required")
  func ended() throws {
    for service in Self.services {
      if service != "atlassian" { try set(service, ["expiringTokens": true]) }
      try fixture.app.signIn(service)
      try fixture.sandbox.control("POST", "\(service)/revokeAll")
      let error = try fixture.app.error(
        of: "token.get", ["provider": .string(service), "forceRefresh": true])
      #expect(error.data["reason"] == "reauthentication_required", "\(service): \(error)")
    }
  }

  @Test("a token of an OAuth app at GitHub, which has no expiry, is handed out without a refresh")
  func endless() throws {
    try fixture.app.signIn("github")
    let token = try token("github")
    #expect(token["expiresAt"] == .null)
    try clock.advance(by: 86_400 * 300)
    #expect(try self.token("github") == token)
  }

  @Test("GitHub's tokens are revoked with the client's secret")
  func revokedAtGitHub() throws {
    try fixture.app.signIn("github")
    let token = try token("github")
    let reply = try fixture.app.call(
      "account.forget", ["account": try account("github")["id"] ?? .null])
    #expect(reply["revoked"] == "done")
    #expect(try status("github", token) == false)
  }

  @Test("Slack's tokens are revoked with themselves; Atlassian's cannot be, and the reply says so")
  func revokedElsewhere() throws {
    try fixture.app.signIn("slack")
    let token = try token("slack")
    let reply = try fixture.app.call("token.revoke", ["provider": "slack"])
    #expect(reply["revoked"] == "done")
    #expect(try status("slack", token) == false)
    try fixture.app.signIn("atlassian")
    let other = try fixture.app.call("token.revoke", ["provider": "atlassian"])
    #expect(other["revoked"] == "skipped", "\(other)")
  }

  @Test("a device code of GitHub signs a person in, also for a client without a secret")
  func device() throws {
    let flow = try fixture.app.startFlow("github", "device")
    #expect(flow["step"]?["userCode"]?.stringValue?.isEmpty == false)
    _ = try Person.decide(
      at: flow["step"]?["verificationURI"]?.stringValue ?? "",
      userCode: flow["step"]?["userCode"]?.stringValue)
    #expect(try fixture.app.finished(flow, moving: clock)["status"] == "succeeded")
    #expect(try status("github", token("github")) == true)
  }

  @Test("a scope goes to GitHub with spaces and to Slack with commas, and comes back with spaces")
  func scopes() throws {
    for (service, scope) in [("github", "read:user gist"), ("slack", "users:read chat:write")] {
      let flow = try fixture.app.startFlow(service, params: ["scope": .string(scope)])
      try Person.signIn(at: flow.url)
      #expect(try fixture.app.finished(flow)["status"] == "succeeded")
      #expect(try token(service)["scope"] == .string(scope))
    }
  }

  @Test("usherctl provider check tells whether the service accepts the client", arguments: services)
  func checked(service: String) throws {
    let good = try fixture.daemon.usherctl(["provider", "check", service])
    #expect(good.0 == 0, "\(good)")
    #expect(good.1.contains("it accepts the client"), "\(good)")
    _ = try fixture.daemon.admin().call(
      "credential.set", ["name": .string("\(service)-secret"), "value": "wrong"])
    let bad = try fixture.daemon.usherctl(["provider", "check", service])
    #expect(bad.0 != 0 && bad.1.contains("it refuses the client"), "\(bad)")
  }
}
