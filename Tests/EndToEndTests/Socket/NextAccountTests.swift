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
    guard try client.warm(account) == token else { throw TestError("another token") }
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

  @Test("what was lent by a rule is nobody else's without it, though the connection stays")
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

  @Test("a token that was issued after now, by a clock that was set back, is refreshed once")
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
