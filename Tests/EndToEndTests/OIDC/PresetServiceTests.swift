import JSONRPC
import Testing
import UsherConfig
import UsherTestKit

/// Every preset, from the sign-in to the end of the account. A preset without a stand-in fails.
@Suite("Presets at stand-ins for their services", .mayBlock, .timeLimit(.minutes(10)))
struct PresetServiceTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws {
    fixture = try OIDCFixture(clock, limits: "force_refresh_seconds = 1") { sandbox in
      PresetStandIn.all.map { $1.provider($0, at: sandbox.base) }.joined()
        + """
        [[provider]]
        name = "everyone"
        preset = "microsoft"
        issuer = "\(sandbox.base)/microsoft/common/v2.0"
        client_id = "usher-microsoft"

        """
    }
    for (preset, standIn) in PresetStandIn.all {
      if let secret = standIn.secret {
        try fixture.daemon.setCredential("\(preset)-secret", secret)
      }
    }
  }

  private func standIn(_ preset: String) throws -> PresetStandIn {
    try #require(
      PresetStandIn.all[preset],
      "preset \(preset) has no stand-in: add one to the sandbox and to PresetStandIn.all")
  }

  private func token(_ preset: String) throws -> JSONValue {
    try fixture.token(["provider": .string(preset)])
  }

  /// Whether the service's API accepts an access token.
  private func accepts(_ preset: String, _ token: JSONValue) throws -> Bool {
    let standIn = try standIn(preset)
    let reply = try Web.send(
      "GET", "\(fixture.sandbox.base)/\(standIn.path)/\(standIn.api)",
      headers: [
        "Authorization": "Bearer \(token["accessToken"]?.stringValue ?? "")", "User-Agent": "test",
      ])
    // Slack answers every request with status 200.
    return try reply.status == 200 && JSONValue(parsing: reply.body)["ok"] != .bool(false)
  }

  private func refusal(_ preset: String, _ more: [String: JSONValue] = [:]) throws -> JSONValue {
    try fixture.app.error(
      of: "token.get", .object(["provider": .string(preset)].merging(more) { $1 }))
  }

  /// Signs in as `next` of an error says.
  private func follow(_ error: JSONValue, _ preset: String) throws {
    let next = try #require(error.data["next"]?["params"], "\(error)")
    let flow = try fixture.app.startFlow(
      preset, next["kind"]?.stringValue ?? "", params: next["params"] ?? [:])
    try Person.signIn(at: flow.url)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
  }

  // MARK: All presets

  @Test(
    "a person signs in, and programs have a token for as long as the service is documented to say",
    arguments: ProviderPreset.names)
  func tokens(preset: String) throws {
    let standIn = try standIn(preset)
    try fixture.app.signIn(preset)
    let account = try #require(fixture.accounts.first)
    #expect(account["provider"] == .string(preset))
    #expect(account["subject"]?.stringValue?.isEmpty == false)
    let first = try token(preset)
    #expect(first["tokenType"]?.stringValue?.lowercased() == "bearer")
    #expect(try accepts(preset, first))
    guard let lifetime = standIn.lifetime else {
      #expect(first["expiresAt"] == .null)
      try clock.advance(by: 300 * 86_400)
      #expect(try token(preset) == first)
      return
    }
    try clock.advance(by: lifetime + 1)
    #expect(try !accepts(preset, first))
    guard standIn.hasRefreshToken else {
      let error = try refusal(preset)
      #expect(error.data["reason"] == "reauthentication_required", "\(error)")
      return try follow(error, preset)
    }
    // The second refresh needs what the first one returned.
    for _ in 0..<2 {
      let next = try token(preset)
      #expect(next["accessToken"] != first["accessToken"])
      #expect(try accepts(preset, next))
      try clock.advance(by: lifetime + 1)
    }
  }

  @Test(
    "a grant that the service has ended leads to a sign-in, which gives the same account a token",
    arguments: ProviderPreset.names)
  func ended(preset: String) throws {
    try fixture.app.signIn(preset)
    try fixture.sandbox.control("POST", "\(preset)/revokeAll")
    let error = try refusal(preset, ["challenge": #"Bearer error="invalid_token""#])
    #expect(error.data["reason"] == "reauthentication_required", "\(error)")
    try follow(error, preset)
    #expect(try accepts(preset, token(preset)))
    #expect(try fixture.accounts.count == 1)
  }

  @Test(
    "account.forget revokes the tokens where the service can, and says so where it cannot",
    arguments: ProviderPreset.names)
  func forgotten(preset: String) throws {
    let standIn = try standIn(preset)
    try fixture.app.signIn(preset)
    let token = try token(preset)
    let account = try fixture.accounts.first?["id"] ?? .null
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == .string(standIn.revoked), "\(reply)")
    #expect(try accepts(preset, token) == (standIn.revoked != "done"))
    #expect(try fixture.accounts.isEmpty)
  }

  @Test(
    "usherctl signs a person in, prints the token, renews it and forgets the account",
    arguments: ProviderPreset.names)
  func command(preset: String) throws {
    let standIn = try standIn(preset)
    let login = try fixture.daemon.startUsherctl(["login", preset, "--no-browser"])
    try Person.signIn(at: login.printed("the page's URL", /http:\S+/))
    #expect(try login.exitStatus() == 0)
    #expect(login.log.contains("signed in"))
    let first = try printedToken(preset)
    #expect(try accepts(preset, first))
    if let lifetime = standIn.lifetime, standIn.hasRefreshToken {
      try clock.advance(by: lifetime + 1)
      let next = try printedToken(preset)
      #expect(next != first)
      #expect(try accepts(preset, next))
    }
    let (status, output, errors) = try fixture.daemon.usherctl(["account", "forget", preset])
    #expect(status == 0, "\(errors)")
    let isRevoked = (output + errors).contains("tokens revoked at the provider")
    #expect(isRevoked == (standIn.revoked == "done"), "\(output)\(errors)")
    #expect(try fixture.daemon.usherctl(["token", "get", preset]).status != 0)
  }

  private func printedToken(_ preset: String) throws -> JSONValue {
    let (status, output, errors) = try fixture.daemon.usherctl(["token", "get", preset])
    #expect(status == 0, "\(errors)")
    return ["accessToken": .string(output.filter { $0 != "\n" })]
  }

  @Test(
    "usherctl signs a person in with a device code, and the token is renewed",
    arguments: PresetStandIn.all.filter { $0.value.hasDeviceFlow }.keys.sorted())
  func device(preset: String) throws {
    let standIn = try standIn(preset)
    let login = try fixture.daemon.startUsherctl(
      ["login", preset, "--kind", "device", "--no-browser"])
    let code = try login.printed("the code", /[A-Z]{4}-[A-Z]{4}/)
    let page = preset == "github" ? "login/device" : "device"
    _ = try Person.decide(
      at: "\(fixture.sandbox.base)/\(standIn.path)/\(page)", userCode: code)
    try eventually("usherctl ends", moving: clock) { !login.isRunning }
    #expect(try login.exitStatus() == 0, "\(login.log)")
    let first = try token(preset)
    #expect(try accepts(preset, first))
    guard let lifetime = standIn.lifetime else { return }
    try clock.advance(by: lifetime + 1)
    let next = try token(preset)
    #expect(next["accessToken"] != first["accessToken"])
    #expect(try accepts(preset, next))
  }

  // MARK: One service

  @Test("Google names the granted scopes by its long names, and its tokens end with the first one")
  func google() throws {
    try fixture.app.signIn("google")
    let scope = try token("google")["scope"]?.stringValue ?? ""
    #expect(scope.contains("https://www.googleapis.com/auth/userinfo.email"))
    let reply = try fixture.app.call("token.revoke", ["provider": "google"])
    // The access token has ended with the refresh token, and Google then refuses its revocation.
    #expect(reply["revoked"] == "done" && reply["living"] == nil, "\(reply)")
  }

  @Test("an ID token with Google's old issuer, which is no URL, is refused by the claim's name")
  func googleIssuer() throws {
    try fixture.sandbox.control(
      "POST", "google/settings", ["idToken": ["claims": ["iss": "accounts.google.com"]]])
    let flow = try fixture.app.startFlow("google")
    try Person.signIn(at: flow.url)
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "failed")
    let message = end.failure["message"]?.stringValue ?? ""
    #expect(message.contains("iss") && message.contains("accounts.google.com"), "\(message)")
  }

  @Test("Microsoft's addresses for all directories fail with the issuer to configure")
  func microsoftDirectories() throws {
    let flow = try fixture.app.startFlow("everyone")
    #expect(flow["status"] == "failed")
    let message = flow.failure["message"]?.stringValue ?? ""
    #expect(message.contains("/microsoft/TENANT-ID/v2.0"), "\(message)")
  }

  @Test("a new policy of Microsoft's directory leads to a sign-in, with Microsoft's description")
  func microsoftPolicy() throws {
    try fixture.app.signIn("microsoft")
    try fixture.spoil(
      "microsoft_token",
      [
        "status": 400,
        "body": [
          "error": "interaction_required",
          "error_description": "AADSTS50076: you must use multi-factor authentication",
          "error_codes": [50076], "suberror": "basic_action",
        ],
      ])
    try clock.advance(by: 3600)
    let error = try refusal("microsoft")
    #expect(error.data["reason"] == "reauthentication_required", "\(error)")
    #expect(error.text.contains("AADSTS50076"), "\(error)")
  }

  @Test("a refresh token that has expired at Codeberg leads to a sign-in, and blames no client")
  func codeberg() throws {
    try fixture.app.signIn("codeberg")
    try clock.advance(by: 731 * 3600)
    let error = try refusal("codeberg")
    #expect(error.data["reason"] == "reauthentication_required", "\(error)")
    #expect(error.text.contains("unauthorized_client"), "\(error)")
    try follow(error, "codeberg")
    #expect(try accepts("codeberg", token("codeberg")))
  }

  @Test("the other answer of Atlassian to a refresh token that is not valid leads to a sign-in")
  func atlassian() throws {
    try fixture.app.signIn("atlassian")
    try fixture.spoil(
      "atlassian_token",
      [
        "status": 403,
        "body": [
          "error": "unauthorized_client", "error_description": "refresh_token is invalid",
        ],
      ])
    try clock.advance(by: 3601)
    #expect(try refusal("atlassian").data["reason"] == "reauthentication_required")
  }
}
