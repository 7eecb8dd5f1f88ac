import JSONRPC
import Testing
import UsherTestKit

/// As ``NextRequestTests``, where it is the account, its token, its provider or the daemon that has
/// become another.
@Suite(
  "The next call for a token, of another account", .mayBlock, .timeLimit(.minutes(10)))
struct NextAccountTests {
  private static let demo: JSONValue = ["provider": "demo"]

  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  /// It asks by the provider and by the account.
  private let client: RawClient
  private let other: RawClient
  private let account: JSONValue

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider())
    client = try daemon.client()
    other = try daemon.client()
    let signedIn = try other.signIn()["result"]?["account"]
    account = ["account": signedIn ?? .null]
  }

  /// The token that the client has been given by either word, ten times.
  private func warm() throws -> JSONValue {
    let token = try client.warm()
    guard try client.warm(account) == token else { throw TestTrouble("another token") }
    return token
  }

  /// What the client is answered by either word.
  private func expect(
    _ byProvider: String, _ byAccount: String, at location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try client.outcome() == byProvider, sourceLocation: location)
    #expect(try client.outcome(of: "token.get", account) == byAccount, sourceLocation: location)
  }

  @Test("a token that another connection revoked is not given; the one of the next sign-in is")
  func revoked() throws {
    let token = try warm()
    _ = try other.call("token.revoke", Self.demo)
    try expect("reauthentication_required", "reauthentication_required")
    try other.signIn()
    let next = try warm()
    #expect(next["accessToken"] != token["accessToken"] && next["account"] == token["account"])
  }

  @Test("an account that another connection forgot is not there; one that comes then is another")
  func forgotten() throws {
    let token = try warm()
    _ = try other.call("account.forget", account)
    try expect("interaction_required", "not_found")
    try other.signIn()
    let next = try client.warm()
    #expect(next["account"] != token["account"])
    #expect(try client.outcome(of: "token.get", account) == "not_found")
  }

  @Test("a new token is given at once: by force elsewhere, and by another sign-in")
  func renewed() throws {
    let first = try warm()
    let forced = try other.call("token.get", ["provider": "demo", "forceRefresh": true])
    #expect(forced["accessToken"] != first["accessToken"])
    #expect(try warm() == forced)
    try other.signIn()
    let again = try warm()
    #expect(again["accessToken"] != forced["accessToken"])
    #expect(again["account"] == first["account"])
  }

  @Test("locked means locked, on every connection; unlocked, all is served as it was")
  func locked() throws {
    let (token, admin) = (try warm(), try daemon.admin())
    for _ in 1...3 {
      _ = try admin.call("system.lock")
      try expect("locked", "locked")
      #expect(try client.outcome() == "locked")
      _ = try admin.call("system.unlock")
      #expect(try warm() == token)
    }
  }

  @Test("what changed while it was locked holds when it is unlocked")
  func changedWhileLocked() throws {
    _ = try warm()
    let admin = try daemon.admin()
    _ = try admin.call("system.lock")
    try daemon.reload(OwnRule.text(allow: ["account.list"]) + sandbox.provider())
    _ = try admin.call("system.unlock")
    try expect("permission_denied", "permission_denied")
    #expect(try client.outcome(of: "account.list", [:]) == "result")
  }

  @Test("a provider that is gone, or has another name, gives nothing; come back, the same token")
  func providerGone() throws {
    let token = try warm()
    for config in ["", sandbox.provider("renamed")] {
      try daemon.reload(config)
      try expect("not_found", "not_found")
      try daemon.reload(sandbox.provider())
      #expect(try warm() == token)
    }
  }

  @Test("a name that has come to mean another provider gives no token of the first one")
  func elsewhere() throws {
    let token = try warm()
    let second = try SandboxUnderTest()
    try daemon.reload(second.provider())
    try expect("reauthentication_required", "reauthentication_required")
    try daemon.reload(sandbox.provider())
    #expect(try warm() == token)
    try daemon.reload(sandbox.provider(more: "connect_timeout_seconds = 7"))
    #expect(try warm() == token, "it is the same provider")
    try daemon.reload(second.provider())
    try expect("reauthentication_required", "reauthentication_required")
    try other.signIn()
    #expect(try client.warm()["accessToken"] != token["accessToken"])
    #expect(try second.requests("token", grantType: "refresh_token") == 0)
  }

  @Test("of two accounts at a provider one has to be named; of one again, not")
  func ambiguous() throws {
    let token = try warm()
    let bob = try other.signIn(user: "bob")["result"]?["account"] ?? .null
    let error = try client.error(of: "token.get", Self.demo)
    #expect(error["data"]?["reason"] == "invalid_params")
    #expect(error["data"]?["field"] == "account", "\(error.text)")
    #expect(try client.call("token.get", account) == token)
    let his = try client.warm(["account": bob])
    #expect(his["account"] == bob && his["accessToken"] != token["accessToken"])
    _ = try other.call("account.forget", ["account": bob])
    #expect(try warm() == token)
    #expect(try client.outcome(of: "token.get", ["account": bob]) == "not_found")
  }

  @Test("what was lent by a rule is nobody else's without it, though the connection stays")
  func sharing() throws {
    let place = try Workplace()
    let rules = try ["kiosk", "till"].map { try NamedProgram.rule($0, in: place) }
    let lends = rules[0] + rules[1] + "owner = \"client\"\n"
    let daemon = try DaemonUnderTest(
      config: "\(sandbox.provider())\n\(lends)share = [\"kiosk\"]\n", at: place)
    let programs = try ["kiosk", "till"].map { try NamedProgram($0, in: place, at: daemon) }
    let (kiosk, till) = (try programs[0].client(), try programs[1].client())
    let account: JSONValue = [
      "account": try till.signIn()["result"]?["account"] ?? .null
    ]
    let token = try till.warm()
    for _ in 1...2 {
      #expect(try kiosk.warm() == token)
      #expect(try kiosk.warm(account) == token)
      try daemon.reload("\(sandbox.provider())\n\(lends)")
      #expect(try kiosk.outcome() == "interaction_required")
      #expect(try kiosk.outcome(of: "token.get", account) == "not_found")
      #expect(try till.warm() == token)
      try daemon.reload("\(sandbox.provider())\n\(lends)share = [\"kiosk\"]\n")
    }
    _ = try till.call("token.revoke", Self.demo)
    #expect(try kiosk.outcome() == "reauthentication_required")
  }

  @Test("time alone ends a token, for each call when its own minValidSeconds are no more")
  func expiry() throws {
    try sandbox.control("POST", "settings", ["tokenReply": ["expires_in": 1000]])
    let clock = MovableClock()
    let daemon = try DaemonUnderTest(config: sandbox.provider(), clock: clock)
    let client = try daemon.client()
    try client.signIn()
    let long: JSONValue = ["provider": "demo", "minValidSeconds": 400]
    let none: JSONValue = ["provider": "demo", "minValidSeconds": 0]
    let first = try client.warm()
    #expect(try client.warm(long) == first && client.warm(none) == first)
    // 300 seconds are left.
    try clock.set(ahead: 700)
    #expect(try client.warm() == first && client.warm(none) == first)
    let second = try client.call("token.get", long)
    #expect(second["accessToken"] != first["accessToken"])
    for params in [Self.demo, long, none] { #expect(try client.warm(params) == second) }
    // 30 seconds are left of the second.
    try clock.set(ahead: 1670)
    #expect(try client.warm(none) == second)
    let third = try client.call("token.get", Self.demo)
    #expect(third["accessToken"] != second["accessToken"])
    #expect(try client.warm(none) == third)
    // A clock that is set back to before the token was issued: it is not trusted, and refreshed once.
    try clock.set(ahead: 0)
    let fourth = try client.call("token.get", Self.demo)
    #expect(fourth["accessToken"] != third["accessToken"])
    for params in [Self.demo, long, none] { #expect(try client.warm(params) == fourth) }
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 3)
  }
}
