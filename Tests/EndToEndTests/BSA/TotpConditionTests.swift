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
    let scene: BSAScene
    let account: JSONValue
    let place: Workplace
    private let programs: [NamedProgram]

    init(_ clock: MovableClock? = nil) throws {
      let place = try Workplace()
      let names = ["till", "desk"]
      let rules = try names.map {
        try NamedProgram.rule($0, in: place) + "require_local_auth_seconds = 300\n"
      }
      scene = try BSAScene(
        more: rules.joined(separator: "\n"), clock: clock, at: place)
      let daemon = scene.daemon
      programs = try names.map { try NamedProgram($0, in: place, at: daemon) }
      try scene.registered()
      account = try scene.signedIn().account ?? .null
      self.place = place
    }

    /// A new connection of a program's.
    func till() throws -> BSAScene { scene.at(try programs[0].client()) }
    func desk() throws -> BSAScene { scene.at(try programs[1].client()) }
  }

  private static let calls = ["token.get", "totp.code"]

  /// Both calls are refused, and name the flow to start.
  private func expectAsked(
    _ client: BSAScene, _ shop: Shop, _ comment: Comment? = nil,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    for method in Self.calls {
      for params: JSONValue in [["account": shop.account], ["provider": "bsa"]] {
        let reply = try client.app.reply(to: method, params)
        let error = reply["error"]
        #expect(
          error?["code"] == 1101 && error?["data"]?["reason"] == "interaction_required",
          comment ?? "\(method): \(reply.text)", sourceLocation: location)
        let next = error?["data"]?["next"]?["params"]
        #expect(
          next?["provider"] == "local" && next?["kind"] == "authenticate", "\(reply.text)",
          sourceLocation: location)
      }
    }
  }

  private func expectGiven(
    _ client: BSAScene, _ shop: Shop, at location: SourceLocation = #_sourceLocation
  ) throws {
    for method in Self.calls {
      let reply = try client.app.reply(to: method, ["account": shop.account])
      #expect(reply["result"] != nil, "\(method): \(reply.text)", sourceLocation: location)
    }
  }

  /// The person proves to be there in a flow of that client's.
  private func authenticate(_ client: BSAScene, passcode: String = BSAScene.passcode) throws {
    let flow = try client.app.startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "open the till"])
    let end = try client.app.finished(client.prove(flow, by: passcode))
    guard end["status"] == "succeeded" else { throw TestTrouble("not there: \(end.text)") }
  }

  @Test("it is asked first, and after the flow the same connection's next call is answered")
  func sameConnection() throws {
    let shop = try Shop()
    let till = try shop.till()
    try expectAsked(till, shop)
    try authenticate(till)
    try expectGiven(till, shop)
    try expectGiven(shop.till(), shop)
    // What hands out no secret is not meant.
    let desk = try shop.desk()
    try expectAsked(desk, shop)
    for method in ["account.list", "token.list", "totp.list", "flow.list"] {
      #expect(try desk.app.reply(to: method)["result"] != nil, "\(method)")
    }
    try expectGiven(shop.scene, shop)
  }

  @Test("the flow that the refusal names does it, with its parameters as they are")
  func next() throws {
    let shop = try Shop()
    let till = try shop.till()
    let next = try till.app.error(of: "token.get", ["provider": "bsa"])["data"]?["next"]
    #expect(next?["method"] == "flow.start")
    let flow = try till.asked(
      till.app.flow(in: till.app.call("flow.start", next?["params"] ?? .null)))
    // There is no reader: the passcode will do.
    #expect(flow["step"]?["methods"] == ["passcode"], "\(flow.text)")
    #expect(try till.app.finished(till.prove(flow))["status"] == "succeeded")
    try expectGiven(till, shop)
  }

  @Test("each flow of the client's counts in which the person proved to be there")
  func otherFlow() throws {
    let shop = try Shop()
    let till = try shop.till()
    try expectAsked(till, shop)
    let flow = try till.registering(.bob)
    // The flow has no account yet, and asks for the person by itself.
    #expect(flow.stepType == "localAuth", "\(flow.text)")
    try expectAsked(till, shop)
    #expect(try till.prove(flow)["status"] == "succeeded")
    try expectGiven(till, shop)
  }

  @Test("a flow that acts for an account is started for those only who may have its token")
  func flowOfAccount() throws {
    let shop = try Shop()
    let till = try shop.till()
    for way in ["push", "otp", "totp"] {
      let error = try till.app.error(
        of: "flow.start",
        ["provider": "bsa", "kind": "authenticate", "params": ["by": .string(way)]])
      #expect(error["data"]?["reason"] == "interaction_required", "\(way): \(error.text)")
      let next = error["data"]?["next"]?["params"]
      #expect(next?["provider"] == "local" && next?["kind"] == "authenticate", "\(error.text)")
    }
    #expect(try shop.scene.requests("otpGenerate") == 0)
    try authenticate(till)
    // The flow asks for the person by itself all the same.
    let asked = try till.asked(till.authenticate("otp"))
    let shown = try till.asked(till.prove(asked), for: "displayCode")
    #expect(try till.cancel(shown)["status"] == "cancelled")
    try expectGiven(till, shop)
  }

  @Test("one that was not finished does not count, nor a wrong passcode")
  func unproven() throws {
    let shop = try Shop()
    let till = try shop.till()
    let params: JSONValue = ["localAuthType": "passcode", "reason": "open the till"]
    let flow = try till.app.startFlow("local", "authenticate", params: params)
    try expectAsked(till, shop)
    let wrong = try till.prove(flow, by: "nothing-like-it")
    #expect(wrong.problem[0] == "wrong_passcode")
    try expectAsked(till, shop)
    #expect(try till.cancel(wrong)["status"] == "cancelled")
    try expectAsked(till, shop)
  }

  @Test("another program's authentication does not count, nor the person's own")
  func otherClient() throws {
    let shop = try Shop()
    let (till, desk) = (try shop.till(), try shop.desk())
    try authenticate(shop.scene)
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

  @Test("a restart forgets it")
  func restart() throws {
    let shop = try Shop()
    try authenticate(shop.till())
    try expectGiven(shop.till(), shop)
    try shop.scene.daemon.restart()
    let till = try shop.till()
    try expectAsked(till, shop)
    try authenticate(till)
    try expectGiven(till, shop)
  }

  @Test("another passcode, and one that was reset, make it void", arguments: [false, true])
  func otherPasscode(isReset: Bool) throws {
    let shop = try Shop()
    let till = try shop.till()
    try authenticate(till)
    try expectGiven(till, shop)
    let new = "another-passcode"
    if isReset {
      _ = try shop.scene.daemon.admin().call(
        "localAuth.setPasscode", ["new": .string(new), "uid": .integer(Int64(getuid()))])
    } else {
      _ = try shop.scene.app.call(
        "localAuth.setPasscode", ["old": .string(BSAScene.passcode), "new": .string(new)])
    }
    try expectAsked(till, shop, "on the open connection")
    try authenticate(till, passcode: new)
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
    let scene = try BSAScene(more: rule)
    try scene.registered()
    try scene.signedIn()
    for verb in [["token", "get", "bsa"], ["totp", "code", "bsa"]] {
      let refused = try scene.daemon.usherctl(verb)
      #expect(refused.status != 0 && refused.output == "", "\(refused)")
      #expect(refused.errors.contains("usherctl flow run local authenticate"), "\(refused.errors)")
    }
    let errors = try scene.daemon.usherctl(["token", "get", "bsa"]).errors
    let line = try #require(errors.firstMatch(of: /usherctl (flow run [^\n]*)/)?.1)
    let command = "\(path) --socket \(scene.daemon.socketPath) \(line)"
    let done = try run(
      "/bin/sh", ["-c", command], input: "\(BSAScene.passcode)\n")
    #expect(done.status == 0, "\(command): \(done)")
    let token = try scene.daemon.usherctl(["token", "get", "bsa"])
    #expect(token.status == 0, "\(token.errors)")
    let secret = token.output.trimmingCharacters(in: .newlines)
    #expect(try scene.owner(of: secret) == "alice.01")
    try waitForRoom(15, inStepOf: 60)
    let code = try scene.daemon.usherctl(["totp", "code", "bsa"])
    #expect(try code.output == scene.numberOfSecret() + "\n", "\(code.errors)")
  }
}
