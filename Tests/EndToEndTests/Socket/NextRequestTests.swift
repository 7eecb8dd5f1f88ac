import JSONRPC
import Testing
import UsherTestKit

/// An open connection repeats the same call; a change of the rules must apply to its very next
/// call.
@Suite(
  "Repeated token.get calls after a change of the rules", .mayBlock, .timeLimit(.minutes(10)))
struct NextRequestTests {
  private static let demo: JSONValue = ["provider": "demo"]

  /// Allows refreshes with a narrower scope: the sandbox's refresh token keeps the whole scope.
  private static let more = "narrow_refresh = true"

  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let client: RawClient

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: OwnRule.text() + sandbox.provider(more: Self.more))
    client = try daemon.client()
  }

  private func reload(_ rules: String) throws {
    try daemon.reload(rules + sandbox.provider(more: Self.more))
  }

  /// Rules that refuse the call, and the reason of the error.
  private static let refusing: [(rule: String, reason: String)] = [
    (OwnRule.text(allow: []), "permission_denied"),
    (OwnRule.text(allow: ["account.list", "token.list demo"]), "permission_denied"),
    (OwnRule.text(allow: ["token.get local"]), "permission_denied"),
    (OwnRule.text("scopes = [\"openid\"]"), "permission_denied"),
    (OwnRule.text("scopes = []"), "permission_denied"),
    (OwnRule.text("hours = [\"\(OwnRule.hours(from: 120, to: 300))\"]"), "permission_denied"),
    (OwnRule.text("require_local_auth_seconds = 300"), "interaction_required"),
    (OwnRule.text("confirm = true"), "interaction_required"),
    // The account's owner is the user, not the client.
    (OwnRule.text("owner = \"client\""), "interaction_required"),
    (OwnRule.text("accounts = [\"subject:somebody-else\"]"), "interaction_required"),
  ]

  @Test("a removed, narrowed or restored rule applies to the next token.get of an open connection")
  func rules() throws {
    try client.signIn()
    let token = try client.warm()
    let account: JSONValue = ["account": token["account"] ?? .null]
    for (rule, reason) in Self.refusing {
      #expect(try client.warm() == token)
      #expect(try client.warm(account) == token)
      try reload(rule)
      #expect(try client.outcome() == reason, "\(rule)")
      #expect(try client.outcome(of: "token.get", account) != "result", "\(rule)")
      try reload(OwnRule.text())
      #expect(try client.outcome() == "result", "\(rule)")
    }
    #expect(try client.warm() == token, "the daemon must not request another token")
  }

  @Test("token.get on an open connection returns only a token whose scope the caller's rule allows")
  func scopes() throws {
    try client.signIn()
    let whole = try client.warm()
    try reload(OwnRule.text("scopes = [\"openid\", \"profile\", \"offline_access\"]"))
    #expect(try client.warm() == whole)
    let narrow: JSONValue = ["provider": "demo", "scope": "openid"]
    let part = try client.warm(narrow)
    #expect(part["scope"] == "openid" && part["accessToken"] != whole["accessToken"])
    try reload(OwnRule.text("scopes = [\"openid\"]"))
    let error = try client.error(of: "token.get", Self.demo)
    #expect(error["data"]?["field"] == "scope", "\(error.text)")
    #expect(try client.warm(narrow) == part)
    try reload(OwnRule.text("scopes = [\"profile\"]"))
    #expect(try client.outcome(of: "token.get", narrow) == "permission_denied")
  }

  @Test("token.get needs a new local authentication when require_local_auth_seconds have passed")
  func localAuth() throws {
    try sandbox.control("POST", "settings", ["accessTokenSeconds": 86_400])
    let clock = MovableClock()
    let rule = OwnRule.text("require_local_auth_seconds = 60")
    let daemon = try DaemonUnderTest(
      config: OwnRule.text() + sandbox.provider(),
      clock: clock, messageBus: FprintdUnderTest.noBus)
    let client = try daemon.client()
    _ = try client.call("localAuth.setPasscode", ["new": .string(ConfirmFixture.passcode)])
    try client.signIn()
    let token = try client.warm()
    try daemon.reload(rule + sandbox.provider())
    #expect(try client.outcome() == "interaction_required")
    try client.prove()
    #expect(try client.warm() == token)
    try clock.pass(61)
    #expect(try client.outcome() == "interaction_required")
  }

  @Test(
    "a confirmation allows one token.get; a remembered one lasts until it expires or is forgotten")
  func confirmed() throws {
    let clock = MovableClock()
    let fixture = try ConfirmFixture(clock: clock)
    let (kiosk, admin) = (try fixture.client("kiosk"), try fixture.daemon.admin())
    #expect(try admin.answer(kiosk.question()) == "result")
    #expect(try kiosk.outcome() == "result")
    #expect(try admin.answer(kiosk.question(), true, 60) == "result")
    try kiosk.warm()
    try clock.set(ahead: 61)
    let id = try kiosk.question()
    #expect(try admin.answer(id, true, "session") == "result")
    try kiosk.warm()
    #expect(try admin.outcome(of: "confirm.forget", ["answer": id]) == "result")
    _ = try kiosk.question()
  }
}
