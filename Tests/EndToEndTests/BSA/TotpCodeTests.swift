import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `totp.code`: codes of the secret that a registration returned.
@Suite("BSA's TOTP codes by totp.code", .mayBlock, .timeLimit(.minutes(10)))
struct TotpCodeTests {
  @Test("totp.code returns BSA's code and the end of its minute, and the site accepts it")
  func right() throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(clock: clock)
    let account = try fixture.registered().account
    try clock.advance(toNextStepOf: 60)
    let code = try fixture.code(of: account)
    #expect(code.code == (try fixture.numberOfSecret()) && code["periodSeconds"] == 60)
    let end = try code.time("expiresAt")
    #expect(end.timeIntervalSince1970.truncatingRemainder(dividingBy: 60) == 0)
    #expect((0...60).contains(end.timeIntervalSince(clock.date)))
    #expect(Set(code.objectValue?.keys ?? [:].keys) == ["code", "periodSeconds", "expiresAt"])
    #expect(try fixture.code() == code, "the same code without the account, by its provider")
    #expect(
      try fixture.app.call("totp.code", ["provider": "bsa", "account": account ?? .null]) == code)
    #expect(
      try fixture.app.call("totp.list", ["provider": "bsa"])["accounts"] == [
        [
          "account": account ?? .null, "provider": "bsa", "label": "alice.01",
          "periodSeconds": 60, "digits": 6,
        ]
      ])
    _ = try fixture.visit("totp", number: code.code)
    #expect(try fixture.restarted().code(of: account) == code, "a restart does not change the code")
  }

  @Test("a client rule for token.get at BSA does not permit totp.code, and the other way round")
  func rules() throws {
    let place = try TemporaryDirectory()
    let allowed = ["codes": "totp.code bsa", "tokens": "token.get bsa"]
    let rules = try allowed.map { name, call in
      try NamedProgram.rule(name, in: place).replacing("\"*\"", with: "\"\(call)\"")
    }
    let fixture = try BSAFixture(more: rules.joined(separator: "\n"), at: place)
    try fixture.registered()
    let account = try fixture.signedIn().account ?? .null
    for (name, call) in allowed {
      let program = try NamedProgram(name, in: place, at: fixture.daemon)
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

/// `single_use`: a client gets one code for each time step.
@Suite("BSA's TOTP codes with single_use", .mayBlock, .timeLimit(.minutes(10)))
struct TotpSingleUseTests {
  private static let tables = "[provider.totp]\nperiod_seconds = 300\nsingle_use = true\n"

  /// - Returns: The time until the next code, in milliseconds.
  @discardableResult
  private func expectSpent(_ fixture: BSAFixture, _ account: JSONValue?) throws -> Int64 {
    let data = try fixture.app.error(of: "totp.code", ["account": account ?? .null])["data"]
    #expect(
      data?["reason"] == "rate_limited" && data?["limit"] == "single_use", "\(data?.text ?? "")")
    let pause = data?["retryAfterMs"]?.integerValue ?? -1
    #expect((1...300_000).contains(pause))
    return pause
  }

  @Test("a second totp.code at BSA in a time step is rate_limited; the next step has another code")
  func once() throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(tables: Self.tables, clock: clock)
    let account = try fixture.registered().account
    try clock.advance(toNextStepOf: 300)
    let code = try fixture.code(of: account)
    let asked = clock.date
    let pause = Double(try expectSpent(fixture, account)) / 1000
    let end = try code.time("expiresAt")
    #expect((asked + pause - 1...clock.date + pause + 1).contains(end))
    #expect(try fixture.app.reason(of: "totp.code", ["provider": "bsa"]) == "rate_limited")
    try expectSpent(fixture.again(), account)
    try clock.advance(by: 300)
    let next = try fixture.code(of: account)
    #expect(try next.code != code.code && next.time("expiresAt") > end)
    try expectSpent(fixture, account)
    try expectSpent(fixture.restarted(), account)
  }

  @Test("a BSA TOTP code counts as issued if the daemon dies before it replies", .ownProcess)
  func deathBetween() throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(tables: Self.tables, clock: clock)
    let account = try fixture.registered().account
    try fixture.daemon.restart(environment: ["USHER_FAILPOINT": "totp.before-telling:1"])
    try clock.advance(toNextStepOf: 300)
    let app = try fixture.daemon.client()
    #expect(throws: (any Error).self) {
      try app.call("totp.code", ["account": account ?? .null])
    }
    #expect(try fixture.daemon.exitStatus() == -SIGKILL)
    try fixture.daemon.start(environment: [:])
    try expectSpent(fixture.again(), account)
  }

  @Test("after BSA reregisterDevice, a code of the new secret is available in the same time step")
  func newSecret() throws {
    let clock = MovableClock()
    // The local authentication of the first registration must still count after the time step.
    let fixture = try BSAFixture(["local_auth_seconds": "900"], tables: Self.tables, clock: clock)
    let account = try fixture.registered().account
    try clock.advance(toNextStepOf: 300)
    let handle = try fixture.disposeToken()
    let before = try fixture.code(of: account)
    let end = try fixture.start(
      "reregisterDevice",
      BSAPerson.alice.deviceParams() + ["authType": "passcode", "disposeToken": .string(handle)])
    #expect(end["status"] == "succeeded", "\(end.text)")
    let after = try fixture.code(of: account)
    #expect(after.code != before.code, "two codes are equal by chance once in a million runs")
    try expectSpent(fixture, account)
  }
}

/// Separation of codes between two Unix users.
@Suite(
  "TOTP codes of two Unix users at BSA", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can run programs as two users"))
struct TotpOwnerTests {
  @Test("a user gets no TOTP code of another user's BSA account, and totp.list does not show it")
  func owners() throws {
    let fixture = try BSAFixture(more: "[access]\ngroup = \"4242\"\n")
    let users = try [4001, 4002].map { try OtherUser($0, groups: "4242", at: fixture.daemon) }
    let mine = fixture.at(try users[0].client())
    let other = fixture.at(try users[1].client())
    try mine.setPasscode()
    let account = try mine.registered().account
    #expect(try mine.code(of: account).code.count == 6)
    for calls in [other, fixture] {
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
