import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `require_local_auth_seconds`: tokens and codes for programs whose person was there a while ago.
@Suite(
  "BSA: a rule that wants a local authentication", .mayBlock, .timeLimit(.minutes(10)))
struct TotpConditionTests {
  /// A registered person with a token, and two programs under such rules.
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

    /// A new connection of a program's.
    func till() throws -> BSAFixture { fixture.at(try programs[0].client()) }
    func desk() throws -> BSAFixture { fixture.at(try programs[1].client()) }
  }

  private static let calls = ["token.get", "totp.code"]

  /// Both calls are refused, and name the flow to start.
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

  /// The person proves to be there in a flow of that client's.
  private func authenticate(_ client: BSAFixture) throws {
    let flow = try client.app.startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "open the till"])
    let end = try client.app.finished(client.prove(flow))
    guard end["status"] == "succeeded" else { throw TestError("not there: \(end.text)") }
  }

  @Test("it is asked first, and after the flow that the refusal names the next call is answered")
  func sameConnection() throws {
    let shop = try Shop()
    let till = try shop.till()
    try expectAsked(till, shop)
    // The flow that the refusal names, with its parameters as they are.
    let next = try till.app.error(of: "token.get", ["provider": "bsa"])["data"]?["next"]
    #expect(next?["method"] == "flow.start")
    let flow = try till.asked(
      till.app.flow(in: till.app.call("flow.start", next?["params"] ?? .null)))
    // There is no reader: the passcode will do.
    #expect(flow["step"]?["methods"] == ["passcode"], "\(flow.text)")
    let wrong = try till.prove(flow, by: "nothing-like-it")
    #expect(wrong.problem[0] == "wrong_passcode")
    try expectAsked(till, shop)
    #expect(try till.app.finished(till.prove(wrong))["status"] == "succeeded")
    try expectGiven(till, shop)
    try expectGiven(shop.till(), shop)
    // What hands out no secret is not meant.
    let desk = try shop.desk()
    try expectAsked(desk, shop)
    for method in ["account.list", "token.list", "totp.list", "flow.list"] {
      #expect(try desk.app.reply(to: method)["result"] != nil, "\(method)")
    }
    try expectGiven(shop.fixture, shop)
  }

  @Test("another program's authentication does not count, nor the person's own")
  func otherClient() throws {
    let shop = try Shop()
    let (till, desk) = (try shop.till(), try shop.desk())
    try authenticate(shop.fixture)
    try expectAsked(till, shop)
    try authenticate(desk)
    try expectGiven(desk, shop)
    try expectAsked(till, shop)
  }

  @Test("an authentication is good until its time is over, whatever the wall clock is set to")
  func timeOver() throws {
    let clock = MovableClock()
    let shop = try Shop(clock)
    let till = try shop.till()
    try authenticate(till)
    try clock.pass(280)
    try expectGiven(till, shop)
    try clock.pass(301)
    try expectAsked(till, shop)
    try authenticate(till)
    try expectGiven(till, shop)
    try clock.set(ahead: 1000)
    try expectGiven(till, shop)
  }

  @Test("usherctl says what to do; that line, run as it is, and the token is printed")
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
