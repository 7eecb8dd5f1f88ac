import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `require_local_auth_seconds`: tokens and codes only after a recent local authentication.
@Suite(
  "Client rules with require_local_auth_seconds at BSA", .mayBlock, .timeLimit(.minutes(10)))
struct TotpConditionTests {
  /// A registered person with a token, and two programs whose rules require a local authentication.
  private struct Shop {
    let fixture: BSAFixture
    let account: JSONValue
    let place: TemporaryDirectory
    private let programs: [NamedProgram]

    init(_ clock: MovableClock? = nil) throws {
      let place = try TemporaryDirectory()
      let names = ["till", "desk"]
      let rules = try names.map {
        try NamedProgram.rule($0, in: place) + "require_local_auth_seconds = 300\n"
      }
      fixture = try BSAFixture(more: rules.joined(separator: "\n"), clock: clock, at: place)
      let daemon = fixture.daemon
      programs = try names.map { try NamedProgram($0, in: place, at: daemon) }
      try fixture.registered()
      account = try fixture.signedIn().account ?? .null
      self.place = place
    }

    /// Returns a new connection of the program `till`.
    func till() throws -> BSAFixture { fixture.at(try programs[0].client()) }
    func desk() throws -> BSAFixture { fixture.at(try programs[1].client()) }
  }

  private static let calls = ["token.get", "totp.code"]

  /// Expects that both calls are refused and name the flow to start.
  private func expectAsked(
    _ client: BSAFixture, _ shop: Shop, at location: SourceLocation = #_sourceLocation
  ) throws {
    for method in Self.calls {
      for params: JSONValue in [["account": shop.account], ["provider": "bsa"]] {
        let reply = try client.app.reply(to: method, params)
        let error = reply["error"]
        #expect(
          error?["code"] == 1101 && error?["data"]?["reason"] == "interaction_required",
          "\(method): \(reply.text)", sourceLocation: location)
        let next = error?["data"]?["next"]?["params"]
        #expect(
          next?["provider"] == "local" && next?["kind"] == "authenticate", "\(reply.text)",
          sourceLocation: location)
      }
    }
  }

  private func expectGiven(
    _ client: BSAFixture, _ shop: Shop, at location: SourceLocation = #_sourceLocation
  ) throws {
    for method in Self.calls {
      let reply = try client.app.reply(to: method, ["account": shop.account])
      #expect(reply["result"] != nil, "\(method): \(reply.text)", sourceLocation: location)
    }
  }

  /// Authenticates by passcode in a flow `local`/`authenticate` of a client.
  private func authenticate(_ client: BSAFixture) throws {
    let flow = try client.app.startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "open the till"])
    let end = try client.app.finished(client.prove(flow))
    guard end["status"] == "succeeded" else {
      throw TestError("local authentication did not succeed: \(end.text)")
    }
  }

  @Test("token.get and totp.code at BSA are refused until the flow that the refusal names succeeds")
  func sameConnection() throws {
    let shop = try Shop()
    let till = try shop.till()
    try expectAsked(till, shop)
    // Start the flow that the refusal names, with its parameters unchanged.
    let next = try till.app.error(of: "token.get", ["provider": "bsa"])["data"]?["next"]
    #expect(next?["method"] == "flow.start")
    let flow = try till.asked(
      till.app.flow(in: till.app.call("flow.start", next?["params"] ?? .null)))
    // Without a reader the passcode is the only method.
    #expect(flow["step"]?["methods"] == ["passcode"], "\(flow.text)")
    let wrong = try till.prove(flow, by: "nothing-like-it")
    #expect(wrong.problem[0] == "wrong_passcode")
    try expectAsked(till, shop)
    #expect(try till.app.finished(till.prove(wrong))["status"] == "succeeded")
    try expectGiven(till, shop)
    try expectGiven(shop.till(), shop)
    // Methods that return no secret need no local authentication.
    let desk = try shop.desk()
    try expectAsked(desk, shop)
    for method in ["account.list", "token.list", "totp.list", "flow.list"] {
      #expect(try desk.app.reply(to: method)["result"] != nil, "\(method)")
    }
    try expectGiven(shop.fixture, shop)
  }

  @Test("at BSA, a local authentication for another program, or for no program, does not count")
  func otherClient() throws {
    let shop = try Shop()
    let (till, desk) = (try shop.till(), try shop.desk())
    try authenticate(shop.fixture)
    try expectAsked(till, shop)
    try authenticate(desk)
    try expectGiven(desk, shop)
    try expectAsked(till, shop)
  }

  @Test("require_local_auth_seconds at BSA is counted independently of the wall clock")
  func timeOver() throws {
    let clock = MovableClock()
    let shop = try Shop(clock)
    let till = try shop.till()
    try authenticate(till)
    try clock.pass(240)
    try expectGiven(till, shop)
    try clock.pass(301)
    try expectAsked(till, shop)
    try authenticate(till)
    try expectGiven(till, shop)
    try clock.set(ahead: 1000)
    try expectGiven(till, shop)
  }

  @Test("usherctl token get at BSA is refused with a command, and succeeds after that command")
  func usherctl() throws {
    let path = URL(fileURLWithPath: BuiltProduct.path("usherctl")).resolvingSymlinksInPath().path
    let rule = """
      [[client]]
      name = "tools"
      match = { executable = "\(path)" }
      allow = ["*"]
      require_local_auth_seconds = 300

      """
    let clock = MovableClock()
    let fixture = try BSAFixture(more: rule, clock: clock)
    try fixture.registered()
    try fixture.signedIn()
    for verb in [["token", "get", "bsa"], ["totp", "code", "bsa"]] {
      let refused = try fixture.daemon.usherctl(verb)
      #expect(refused.status != 0 && refused.output == "", "\(refused)")
      #expect(refused.errors.contains("usherctl flow run local authenticate"), "\(refused.errors)")
    }
    let errors = try fixture.daemon.usherctl(["token", "get", "bsa"]).errors
    let line = try #require(errors.firstMatch(of: /usherctl (flow run [^\n]*)/)?.1)
    let command = "\(path) --socket \(fixture.daemon.socketPath) \(line)"
    let done = try run(
      "/bin/sh", ["-c", command], input: "\(BSAFixture.passcode)\n")
    #expect(done.status == 0, "\(command): \(done)")
    let token = try fixture.daemon.usherctl(["token", "get", "bsa"])
    #expect(token.status == 0, "\(token.errors)")
    let secret = token.output.trimmingCharacters(in: .newlines)
    #expect(try fixture.owner(of: secret) == "alice.01")
    try clock.advance(toNextStepOf: 60)
    let code = try fixture.daemon.usherctl(["totp", "code", "bsa"])
    #expect(try code.output == fixture.numberOfSecret() + "\n", "\(code.errors)")
  }
}
