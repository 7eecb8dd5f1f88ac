import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

@testable import UsherDaemon

/// Calls of `token.forTarget` on a connection, with tokens in memory.
@Suite("Calls about targets", .timeLimit(.minutes(10)))
struct TargetCallTests {
  private static let call = line("https://git.example/team/app.git")

  private let staged: ConnectionHarness

  init() async throws {
    staged = try await ConnectionHarness { config in config.targets = [try Self.target()] }
  }

  private static func line(_ name: String, _ method: String = TokenForTarget.name) -> String {
    CallLine.line(method, #"{"kind":"git","name":"\#(name)"}"#)
  }

  private static func target(username: String? = "oauth2") throws -> TargetConfig {
    var target = TargetConfig.blank
    target.kind = try TargetKind(setting: "git")
    target.match = try TargetMatch(setting: "https://git.example/*")
    target.provider = .work
    target.username = username
    return target
  }

  private func answer(_ line: String, on connection: HarnessConnection) async throws -> JSONValue {
    try CallLine.parse(try await connection.answer(line))
  }

  private func reason(_ line: String, on connection: HarnessConnection) async throws -> String {
    let reply = try await answer(line, on: connection)
    return reply["error"]?["data"]?["reason"]?.stringValue
      ?? reply["result"]?["accessToken"]?.stringValue ?? "none"
  }

  @Test("each of many equal calls is audited, and all replies equal the first one")
  func repeated() async throws {
    try await staged.signIn()
    let connection = try await staged.connect()
    let first = try await answer(Self.call, on: connection)
    #expect(first["result"]?["accessToken"] == "access-1")
    #expect(first["result"]?["username"] == "oauth2")
    #expect(first["result"]?["match"] == "https://git.example/*")
    for _ in 1...9 { #expect(try await answer(Self.call, on: connection) == first) }
    #expect(try await staged.audited(TokenForTarget.name) == 10)
    #expect(try await staged.audited(TokenGet.name) == 0)
    await staged.end()
  }

  @Test("a cached reply ends when a reload changes the target, or removes it, or changes the rules")
  func reloaded() async throws {
    try await staged.signIn()
    let connection = try await staged.connect()
    for _ in 1...3 { _ = try await answer(Self.call, on: connection) }
    try staged.reload { $0.targets = [try Self.target(username: nil)] }
    for _ in 1...2 {
      let reply = try await answer(Self.call, on: connection)
      #expect(reply["result"]?["accessToken"] == "access-1")
      #expect(reply["result"]?["username"] == nil)
    }
    try staged.rule { $0.allow = [try AccessPattern(setting: "token.forTarget docker")] }
    #expect(try await reason(Self.call, on: connection) == "permission_denied")
    try staged.rule { $0.allow = [try AccessPattern(setting: "token.forTarget git")] }
    for _ in 1...2 { #expect(try await reason(Self.call, on: connection) == "access-1") }
    try staged.reload { $0.targets = [] }
    #expect(try await reason(Self.call, on: connection) == "no_target")
    await staged.end()
  }

  @Test("an account that is only on disk answers the tool, and also target.resolve")
  func cold() async throws {
    let record = try await staged.signIn()
    let connection = try await staged.connect()
    for method in [TokenForTarget.name, TargetResolve.name] {
      try await staged.chill()
      let reply = try await answer(
        Self.line("https://git.example/team/app.git", method), on: connection)
      #expect(reply["result"]?["account"] == .string(record.id.rawValue))
    }
    await staged.end()
  }

  @Test(
    "a client gets the token of an account that is shared with it by a rule for the target alone")
  func shared() async throws {
    try await staged.repository.persist(
      .sample(), of: Owner(realm: "host", uid: Owner.anyUser, client: "desk"), client: "desk")
    try staged.reload { config in
      var desk = ClientRule(
        name: "desk", match: ClientMatch(unit: "desk.service"),
        allow: [try AccessPattern(setting: "*")])
      desk.owner = .client
      desk.share = ["till"]
      let till = ClientRule(
        name: "till", match: ClientMatch(user: .id(1000)),
        allow: [try AccessPattern(setting: "token.forTarget git/https://git.example/team/*")])
      config.clients = [desk, till]
    }
    let connection = try await staged.connect()
    #expect(try await reason(Self.call, on: connection) == "access-1")
    #expect(
      try await reason(Self.line("https://git.example/other"), on: connection)
        == "permission_denied")
    try staged.reload { $0.clients[0].share = [] }
    #expect(try await reason(Self.call, on: connection) == "interaction_required")
    await staged.end()
  }

  @Test(
    "a rule without the right is told the same for a target that exists and for one that does not")
  func unknowable() async throws {
    try staged.rule { $0.allow = [try AccessPattern(setting: "token.forTarget docker")] }
    let connection = try await staged.connect()
    let existing = try await answer(Self.line("https://git.example/a"), on: connection)
    try staged.reload { $0.targets = [] }
    let missing = try await answer(Self.line("https://git.example/a"), on: connection)
    #expect(existing["error"]?["code"] == -32001 && missing["error"]?["code"] == -32001)
    #expect(existing["error"]?["message"] == missing["error"]?["message"])
    await staged.end()
  }

  @Test("the lines that an error advises allow no more than the caller has asked for")
  func advice() async throws {
    let connection = try await staged.connect()
    let star = try await answer(Self.line("*"), on: connection)
    #expect(star["error"]?["data"]?["field"] == "name")
    try staged.reload { $0.targets = [] }
    let quoted = Self.line(#"x\",\"y"#)
    let missing = try await answer(quoted, on: connection)
    #expect(missing["error"]?["data"]?["reason"] == "no_target")
    #expect(missing["error"]?["message"]?.stringValue?.contains(#"match = "x\",\"y" and"#) == true)
    try staged.rule { $0.allow = [try AccessPattern(setting: "token.forTarget docker")] }
    let denied = try await answer(quoted, on: connection)
    #expect(
      denied["error"]?["message"]?.stringValue?
        .hasSuffix(#"allow = ["token.forTarget git/x\",\"y"]"#) == true)
    await staged.end()
  }
}
