import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Codes of the secret that a registration brought.
@Suite("BSA: totp.code", .mayBlock, .timeLimit(.minutes(10)))
struct TotpCodeTests {
  @Test("it is what the provider computes, with its minute; the site takes it")
  func right() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    let account = try scene.registered().account
    try clock.advance(toNextStepOf: 60)
    let code = try scene.code(of: account)
    #expect(code.code == (try scene.numberOfSecret()) && code["periodSeconds"] == 60)
    let end = try code.time("expiresAt")
    #expect(end.timeIntervalSince1970.truncatingRemainder(dividingBy: 60) == 0)
    #expect((0...60).contains(end.timeIntervalSince(clock.date)))
    #expect(Set(code.objectValue?.keys ?? [:].keys) == ["code", "periodSeconds", "expiresAt"])
    #expect(try scene.code() == code, "by its provider")
    #expect(
      try scene.app.call("totp.code", ["provider": "bsa", "account": account ?? .null]) == code)
    #expect(
      try scene.app.call("totp.list", ["provider": "bsa"])["accounts"] == [
        [
          "account": account ?? .null, "provider": "bsa", "label": "alice.01",
          "periodSeconds": 60, "digits": 6,
        ]
      ])
    _ = try scene.visit("totp", number: code.code)
    #expect(try scene.restarted().code(of: account) == code, "a restart changes nothing")
  }

  @Test("a rule names it as it names token.get: what it does not name is not permitted")
  func rules() throws {
    let place = try TemporaryDirectory()
    let allowed = ["codes": "totp.code bsa", "tokens": "token.get bsa"]
    let rules = try allowed.map { name, call in
      try NamedProgram.rule(name, in: place).replacing("\"*\"", with: "\"\(call)\"")
    }
    let scene = try BSAScene(more: rules.joined(separator: "\n"), at: place)
    try scene.registered()
    let account = try scene.signedIn().account ?? .null
    for (name, call) in allowed {
      let program = try NamedProgram(name, in: place, at: scene.daemon)
      let app = try program.client()
      for method in ["totp.code", "token.get"] {
        let reply = try app.reply(to: method, ["account": account])
        #expect((reply["result"] != nil) == call.hasPrefix(method), "\(name): \(reply.text)")
        guard reply["result"] == nil else { continue }
        #expect(reply["error"]?["data"]?["reason"] == "permission_denied", "\(reply.text)")
      }
      #expect(try app.reason(of: "totp.list") == "permission_denied")
    }
  }
}

/// `single_use`: a code of one step once for a client.
@Suite("BSA: a code that is given once", .mayBlock, .timeLimit(.minutes(10)))
struct TotpSingleUseTests {
  private static let tables = "[provider.totp]\nperiod_seconds = 300\nsingle_use = true\n"

  /// - Returns: Milliseconds until the next.
  @discardableResult
  private func expectSpent(_ scene: BSAScene, _ account: JSONValue?) throws -> Int64 {
    let data = try scene.app.error(of: "totp.code", ["account": account ?? .null])["data"]
    #expect(
      data?["reason"] == "rate_limited" && data?["limit"] == "single_use", "\(data?.text ?? "")")
    let pause = data?["retryAfterMs"]?.integerValue ?? -1
    #expect((1...300_000).contains(pause))
    return pause
  }

  @Test("a second call in the step is refused, with the time that is left; then there is another")
  func once() throws {
    let clock = MovableClock()
    let scene = try BSAScene(tables: Self.tables, clock: clock)
    let account = try scene.registered().account
    try clock.advance(toNextStepOf: 300)
    let code = try scene.code(of: account)
    let asked = clock.date
    let pause = Double(try expectSpent(scene, account)) / 1000
    let end = try code.time("expiresAt")
    #expect((asked + pause - 1...clock.date + pause + 1).contains(end))
    #expect(try scene.app.reason(of: "totp.code", ["provider": "bsa"]) == "rate_limited")
    try expectSpent(scene.again(), account)
    try clock.advance(by: 300)
    let next = try scene.code(of: account)
    #expect(try next.code != code.code && next.time("expiresAt") > end)
    try expectSpent(scene, account)
    try expectSpent(scene.restarted(), account)
  }

  @Test("a daemon that dies before it tells the code has given it: never twice", .ownProcess)
  func deathBetween() throws {
    let clock = MovableClock()
    let scene = try BSAScene(tables: Self.tables, clock: clock)
    let account = try scene.registered().account
    try scene.daemon.restart(environment: ["USHER_FAILPOINT": "totp.before-telling:1"])
    try clock.advance(toNextStepOf: 300)
    let app = try scene.daemon.client()
    #expect(throws: (any Error).self) {
      try app.call("totp.code", ["account": account ?? .null])
    }
    #expect(try scene.daemon.exitStatus() == -SIGKILL)
    try scene.daemon.start(environment: [:])
    try expectSpent(scene.again(), account)
  }

  @Test("another device's secret has had no codes: there is one at once")
  func newSecret() throws {
    let clock = MovableClock()
    // The passcode that is entered for the first registration must still be good after the step.
    let scene = try BSAScene(["local_auth_seconds": "900"], tables: Self.tables, clock: clock)
    let account = try scene.registered().account
    try clock.advance(toNextStepOf: 300)
    let handle = try scene.disposeToken()
    let before = try scene.code(of: account)
    let end = try scene.start(
      "reregisterDevice",
      BSAPerson.alice.deviceParams() + ["authType": "passcode", "disposeToken": .string(handle)])
    #expect(end["status"] == "succeeded", "\(end.text)")
    let after = try scene.code(of: account)
    #expect(after.code != before.code, "one in a million")
    try expectSpent(scene, account)
  }
}

/// Whose codes they are.
@Suite(
  "BSA: codes of two users of one machine", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can be two users; run this as root"))
struct TotpOwnerTests {
  @Test("another user gets no code of mine, and sees no account that has any")
  func owners() throws {
    let scene = try BSAScene(more: "[access]\ngroup = \"4242\"\n")
    let users = try [4001, 4002].map { try OtherUser($0, groups: "4242", at: scene.daemon) }
    let mine = scene.at(try users[0].client())
    let other = scene.at(try users[1].client())
    try mine.setPasscode()
    let account = try mine.registered().account
    #expect(try mine.code(of: account).code.count == 6)
    for calls in [other, scene] {
      let call: JSONValue = ["account": account ?? .null]
      #expect(try calls.app.reason(of: "totp.code", call) == "not_found")
      #expect(
        try calls.app.reason(of: "totp.code", ["provider": "bsa"]) == "interaction_required")
      #expect(try calls.app.call("totp.list") == ["accounts": []])
      let start: JSONValue = [
        "provider": "bsa", "kind": "authenticate",
        "params": ["by": "totp", "account": account ?? .null],
      ]
      #expect(try calls.app.reason(of: "flow.start", start) == "not_found")
    }
    withExtendedLifetime(users) {}
  }
}
