import JSONRPC
import Testing
import UsherTestKit

/// Like ``NextRequestTests``, for changes of the account, its token, its sharing or the clock.
@Suite(
  "Repeated token.get calls after a change of the account", .mayBlock, .timeLimit(.minutes(10)))
struct NextAccountTests {
  private static let demo: JSONValue = ["provider": "demo"]

  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  /// The client that repeats `token.get`, by provider and by account.
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

  /// Asks for the token ten times by provider and ten times by account, and returns it.
  private func warm() throws -> JSONValue {
    let token = try client.warm()
    guard try client.warm(account) == token else {
      throw TestError("token.get by account and by provider return different tokens")
    }
    return token
  }

  /// Expects these outcomes of `token.get` by provider and by account.
  private func expect(
    _ byProvider: String, _ byAccount: String, at location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try client.outcome() == byProvider, sourceLocation: location)
    #expect(try client.outcome(of: "token.get", account) == byAccount, sourceLocation: location)
  }

  @Test(
    "token.get refuses a token that another connection revoked, and returns that of the next sign-in"
  )
  func revoked() throws {
    let token = try warm()
    _ = try other.call("token.revoke", Self.demo)
    try expect("reauthentication_required", "reauthentication_required")
    try other.signIn()
    let next = try warm()
    #expect(next["accessToken"] != token["accessToken"] && next["account"] == token["account"])
  }

  @Test(
    "token.get fails after another connection forgot the account; the next sign-in makes a new account"
  )
  func forgotten() throws {
    let token = try warm()
    _ = try other.call("account.forget", account)
    try expect("interaction_required", "not_found")
    try other.signIn()
    let next = try client.warm()
    #expect(next["account"] != token["account"])
    #expect(try client.outcome(of: "token.get", account) == "not_found")
  }

  @Test(
    "token.get returns the new token right after a forced refresh or a sign-in on another connection"
  )
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

  @Test(
    "a program's open connection loses a shared account as soon as the share setting is removed")
  func sharing() throws {
    let place = try TemporaryDirectory()
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

  @Test(
    "token.get refreshes once a token whose issue time is in the future because the clock was set back"
  )
  func clockSetBack() throws {
    let clock = MovableClock()
    let daemon = try DaemonUnderTest(config: sandbox.provider(), clock: clock)
    let client = try daemon.client()
    try client.signIn()
    try clock.set(ahead: 1000)
    let forced: JSONValue = ["provider": "demo", "forceRefresh": true]
    let first = try client.call("token.get", forced)
    #expect(try client.warm() == first)
    try clock.set(ahead: 0)
    let second = try client.call("token.get", Self.demo)
    #expect(second["accessToken"] != first["accessToken"])
    #expect(try client.warm() == second)
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 2)
  }
}
