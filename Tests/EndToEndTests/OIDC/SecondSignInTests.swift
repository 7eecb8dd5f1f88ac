import JSONRPC
import Testing
import UsherTestKit

/// All programs of a user share the grant of an account. A later sign-in of the same person must
/// not take from them what they have.
@Suite("A later sign-in of the same person", .mayBlock, .timeLimit(.minutes(10)))
struct SecondSignInTests {
  private static let mail = "https://mail.example.com"
  private static let files = "https://files.example.com/v1"

  let fixture: OIDCFixture
  private let account: JSONValue

  init() throws {
    fixture = try OIDCFixture(
      provider: """
        audience_parameter = "resource"
        audiences = ["\(Self.mail)", "\(Self.files)"]
        """)
    account = try fixture.app.signIn()["result"]?["account"] ?? .null
  }

  private func token(_ audience: String? = nil) throws -> JSONValue {
    var params: [String: JSONValue] = ["provider": "demo"]
    params["audience"] = audience.map { .string($0) }
    return try fixture.token(.object(params))
  }

  private func words(_ text: JSONValue?) -> Set<Substring> {
    Set(text?.stringValue?.split(separator: " ") ?? [])
  }

  /// Signs in and returns the result of the flow.
  private func signIn(_ params: JSONValue, kind: String = "authorize") throws -> JSONValue {
    let flow = try fixture.app.startFlow("demo", kind, params: params)
    try Person.signIn(at: flow.url)
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "succeeded", "\(end)")
    return end["result"] ?? .null
  }

  @Test("that names the account requests what the account has together with what it asks for")
  func named() throws {
    let before = try token()
    let result = try signIn([
      "account": account, "scope": "openid payments", "audiences": [.string(Self.mail)],
    ])
    #expect(result == ["account": account])
    let after = try token()
    #expect(words(after["scope"]) == words(before["scope"]).union(["payments"]))
    #expect(after["accessToken"] != before["accessToken"])
    for audience in [Self.mail, Self.files] {
      #expect(try token(audience)["accessToken"] != nil)
    }
  }

  @Test("that names the account and nothing else loses no audience that was added later")
  func namedByDefault() throws {
    let other = "https://calendar.example.com"
    _ = try signIn(["account": account, "audiences": [.string(other)]])
    _ = try signIn(["account": account])
    for audience in [Self.mail, Self.files, other] {
      #expect(try token(audience)["accessToken"] != nil)
    }
  }

  @Test("with less scope or fewer audiences keeps the earlier grant, and the result says so")
  func narrower() throws {
    let before = try token()
    for params: JSONValue in [
      ["scope": "openid profile"], ["audiences": [.string(Self.mail)]],
      ["scope": "openid", "audiences": []],
    ] {
      #expect(try signIn(params) == ["account": account, "earlierGrant": "kept"], "\(params)")
      #expect(try token() == before)
      #expect(try token(Self.files)["accessToken"] != nil)
    }
  }

  @Test("with the same scope and audiences replaces the grant")
  func equal() throws {
    let before = try token()
    #expect(try signIn([:]) == ["account": account])
    #expect(try token()["accessToken"] != before["accessToken"])
  }

  @Test("that brings other scope replaces the grant, says what is lost, and next restores it")
  func other() throws {
    let before = try token()
    let result = try signIn([
      "scope": "openid payments offline_access", "audiences": [.string(Self.mail)],
    ])
    #expect(result["account"] == account && result["earlierGrant"] == "replaced")
    #expect(words(result["lostScope"]).contains("profile"))
    #expect(!words(result["lostScope"]).contains("openid"))
    #expect(result["lostAudiences"] == [.string(Self.files)])
    let error = try fixture.app.error(
      of: "token.get", ["provider": "demo", "scope": "profile"])
    #expect(error.data["reason"] == "consent_required")
    let next = try #require(error.data["next"]?["params"])
    #expect(
      try signIn(next["params"] ?? [:], kind: next["kind"]?.stringValue ?? "")
        == ["account": account])
    #expect(words(try token()["scope"]).isSuperset(of: ["profile", "payments"]))
    #expect(words(before["scope"]).contains("profile"))
  }

  @Test("after token.revoke, a sign-in with less scope has that scope")
  func revoked() throws {
    _ = try fixture.app.call("token.revoke", ["account": account])
    #expect(
      try signIn(["account": account, "scope": "openid offline_access"]) == ["account": account])
    #expect(!words(try token()["scope"]).contains("profile"))
  }

  @Test("usherctl login says that the earlier grant is kept, and how to replace it")
  func command() throws {
    let place = try TemporaryDirectory()
    let program = try RunningProgram(
      BuiltProduct.path("usherctl"),
      [
        "login", "demo", "--scope", "openid", "--no-browser", "--socket",
        fixture.daemon.socketPath,
      ],
      log: place.file("log"))
    var page = ""
    try eventually("usherctl prints the page: \(program.log)") {
      page = program.log.firstMatch(of: /http:\/\/\S+/).map { String($0.0) } ?? ""
      guard !page.isEmpty || program.isRunning else { throw TestError(program.log) }
      return !page.isEmpty
    }
    try Person.signIn(at: page)
    try eventually("usherctl ends") { !program.isRunning }
    #expect(try program.exitStatus() == 0, "\(program.log)")
    #expect(program.log.contains("keeps its earlier grant"), "\(program.log)")
    #expect(program.log.contains("usherctl token revoke"), "\(program.log)")
  }
}
