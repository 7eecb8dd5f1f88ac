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
    _ = try scene.visit("totp", number: code.code)
  }

  @Test(
    "digits, period and hash are the configuration's, as another program computes them",
    arguments: [("SHA1", 6, 60), ("SHA256", 7, 300), ("SHA512", 8, 300)])
  func profiles(hash: String, digits: Int, period: Int) throws {
    let clock = MovableClock()
    let scene = try BSAScene(
      tables: """
        [provider.totp]
        algorithm = "\(hash)"
        digits = \(digits)
        period_seconds = \(period)
        """, clock: clock)
    let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
    try scene.answers("users", ["data": ["secretKey": .string(secret)]])
    let account = try scene.registered().account
    try clock.advance(toNextStepOf: Int64(period))
    let code = try scene.code(of: account)
    let other = try run(
      "/usr/bin/python3",
      [
        "-c", Self.script, secret, hash, "\(digits)", "\(period)",
        "\(clock.date.timeIntervalSince1970)",
      ])
    #expect(code.code + "\n" == other.output, "\(other.errors)")
    #expect(code["periodSeconds"] == .integer(Int64(period)))
    let listed = try scene.app.call("totp.list", ["provider": "bsa"])["accounts"]
    #expect(
      listed == [
        [
          "account": account ?? .null, "provider": "bsa", "label": "alice.01",
          "periodSeconds": .integer(Int64(period)), "digits": .integer(Int64(digits)),
        ]
      ])
  }

  /// RFC 4226 §5.3 and RFC 6238 §4.2, by nobody's library of ours.
  private static let script = """
    import base64, hmac, struct, sys
    secret, name, digits, period = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    step = struct.pack(">Q", int(float(sys.argv[5])) // period)
    mac = hmac.new(base64.b32decode(secret), step, name.lower()).digest()
    at = mac[-1] & 15
    number = struct.unpack(">I", mac[at:at + 4])[0] & 0x7FFFFFFF
    print(str(number % 10 ** digits).zfill(digits))
    """

  @Test("who has no account, none of that provider, or none with codes, is told so")
  func nothing() throws {
    let scene = try BSAScene()
    #expect(try scene.app.call("totp.list") == ["accounts": []])
    #expect(try scene.app.reason(of: "totp.code", ["provider": "bsa"]) == "interaction_required")
    #expect(
      try scene.app.reason(of: "totp.code", ["account": "acc_0000000000000000"]) == "not_found")
    let neither = try scene.app.error(of: "totp.code", [:])["data"]
    #expect(neither?["reason"] == "invalid_params" && neither?["field"] == "account")
    #expect(try scene.app.reason(of: "totp.code", ["provider": "nobody"]) != "none")
    let account = try scene.registered().account
    let other = try scene.app.error(
      of: "totp.code", ["account": account ?? .null, "provider": "local"])["data"]
    #expect(other?["reason"] == "invalid_params" && other?["field"] == "provider")
    #expect(try scene.app.call("totp.list", ["provider": "local"]) == ["accounts": []])
    _ = try scene.app.call("account.forget", ["account": account ?? .null])
    #expect(
      try scene.app.reason(of: "totp.code", ["account": account ?? .null]) == "not_found")
    #expect(try scene.app.call("totp.list") == ["accounts": []])
  }

  @Test("of two accounts at one provider one must be named")
  func two() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    let alice = try scene.registered().account
    let bob = try scene.registered(.bob).account
    let data = try scene.app.error(of: "totp.code", ["provider": "bsa"])["data"]
    #expect(data?["reason"] == "invalid_params" && data?["field"] == "account")
    try clock.advance(toNextStepOf: 60)
    #expect(try scene.code(of: alice).code == scene.numberOfSecret())
    #expect(try scene.code(of: bob).code == scene.numberOfSecret(.bob))
    #expect(try scene.app.call("totp.list")["accounts"]?.arrayValue?.count == 2)
  }

  @Test("of a provider that is configured no more there are no codes; once it is again, there are")
  func providerGone() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    let account = try scene.registered().account
    let place = scene.daemon.place
    let text = try String(contentsOfFile: place.file("usherd.toml"), encoding: .utf8)
    try place.write(text.components(separatedBy: "[[provider]]")[0], to: "usherd.toml")
    let without = try scene.restarted()
    for params: JSONValue in [["account": account ?? .null], ["provider": "bsa"]] {
      #expect(try without.app.reason(of: "totp.code", params) == "not_found")
    }
    #expect(try without.app.call("totp.list") == ["accounts": []])
    try place.write(text, to: "usherd.toml")
    let again = try scene.restarted()
    try clock.advance(toNextStepOf: 60)
    #expect(try again.code(of: account).code == again.numberOfSecret())
  }

  @Test("a rule names it as it names token.get: what it does not name is not permitted")
  func rules() throws {
    let place = try Workplace()
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

  @Test("a restart changes nothing")
  func restart() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    let account = try scene.registered().account
    try clock.advance(toNextStepOf: 60)
    let code = try scene.code(of: account)
    #expect(try scene.restarted().code(of: account) == code)
  }
}

/// `single_use`: a code of one step once for a client.
@Suite("BSA: a code that is given once", .mayBlock, .timeLimit(.minutes(10)))
struct TotpSingleUseTests {
  private static let tables = "[provider.totp]\nperiod_seconds = 30\nsingle_use = true\n"

  /// - Returns: Milliseconds until the next.
  @discardableResult
  private func expectSpent(_ scene: BSAScene, _ account: JSONValue?) throws -> Int64 {
    let data = try scene.app.error(of: "totp.code", ["account": account ?? .null])["data"]
    #expect(
      data?["reason"] == "rate_limited" && data?["limit"] == "single_use", "\(data?.text ?? "")")
    let pause = data?["retryAfterMs"]?.integerValue ?? -1
    #expect((1...30_000).contains(pause))
    return pause
  }

  @Test("a second call in the step is refused, with the time that is left; then there is another")
  func once() throws {
    let clock = MovableClock()
    let scene = try BSAScene(tables: Self.tables, clock: clock)
    let account = try scene.registered().account
    try clock.advance(toNextStepOf: 30)
    let code = try scene.code(of: account)
    let pause = try expectSpent(scene, account)
    let end = try code.time("expiresAt")
    #expect(abs(end.timeIntervalSince(clock.date) - Double(pause) / 1000) < 2)
    #expect(try scene.app.reason(of: "totp.code", ["provider": "bsa"]) == "rate_limited")
    try expectSpent(scene.again(), account)
    try clock.advance(by: 30)
    let next = try scene.code(of: account)
    #expect(try next.code != code.code && next.time("expiresAt") > end)
    try expectSpent(scene, account)
  }

  @Test("a clock that is set back gives no code twice: not that one, nor one of before it")
  func setBack() throws {
    let clock = MovableClock()
    let scene = try BSAScene(tables: Self.tables, clock: clock)
    let account = try scene.registered().account
    try clock.advance(toNextStepOf: 30)
    let (first, ahead) = (try scene.code(of: account), clock.ahead)
    try clock.set(ahead: ahead + 30)
    let second = try scene.code(of: account)
    for seconds: Int64 in [0, -300] {
      try clock.set(ahead: ahead + seconds)
      let data = try scene.app.error(of: "totp.code", ["account": account ?? .null])["data"]
      #expect(data?["reason"] == "rate_limited")
      let pause = Double(data?["retryAfterMs"]?.integerValue ?? 0) / 1000
      let left = try second.time("expiresAt").timeIntervalSince(clock.date)
      #expect(abs(left - pause) < 2, "\(pause)")
    }
    try expectRefused(scene.restarted(), account)
    try clock.set(ahead: ahead + 60)
    let third = try scene.again().code(of: account)
    #expect(![first.code, second.code].contains(third.code), "one in a million")
  }

  private func expectRefused(_ scene: BSAScene, _ account: JSONValue?) throws {
    let reason = try scene.app.reason(of: "totp.code", ["account": account ?? .null])
    #expect(reason == "rate_limited")
  }

  @Test("it is refused after kill -9 too")
  func killed() throws {
    let clock = MovableClock()
    let scene = try BSAScene(tables: Self.tables, clock: clock)
    let account = try scene.registered().account
    try clock.advance(toNextStepOf: 30)
    _ = try scene.code(of: account)
    let after = try scene.restarted()
    try expectSpent(after, account)
    try expectSpent(after.restarted(), account)
  }

  @Test("a daemon that dies before it tells the code has given it: never twice", .ownProcess)
  func deathBetween() throws {
    let scene = try BSAScene(tables: Self.tables)
    let account = try scene.registered().account
    try scene.daemon.restart(environment: ["USHER_FAILPOINT": "totp.before-telling:1"])
    try waitForRoom(15, inStepOf: 30)
    let app = try scene.daemon.client()
    #expect(throws: (any Error).self) {
      try app.call("totp.code", ["account": account ?? .null])
    }
    #expect(try scene.daemon.exitStatus() == -SIGKILL)
    try scene.daemon.start(environment: [:])
    try expectSpent(scene.again(), account)
  }

  @Test("eight at once: one gets it")
  func atOnce() async throws {
    try await aside {
      let clock = MovableClock()
      let scene = try BSAScene(tables: Self.tables, clock: clock)
      let account = try scene.registered().account
      let clients = try (0..<8).map { _ in try scene.daemon.client() }
      try clock.advance(toNextStepOf: 30)
      for client in clients {
        let call: JSONValue = [
          "jsonrpc": "2.0", "id": 1, "method": "totp.code",
          "params": ["account": account ?? .null],
        ]
        try client.send(call.text)
      }
      let replies = try clients.map { try $0.receive() ?? .null }
      #expect(replies.count { $0["result"]?["code"] != nil } == 1, "\(replies.map(\.text))")
      #expect(replies.count { $0["error"]?["data"]?["reason"] == "rate_limited" } == 7)
    }
  }

  @Test("another client gets its own, of the same step")
  func otherClient() throws {
    let place = try Workplace()
    let clock = MovableClock()
    let scene = try BSAScene(
      tables: Self.tables, more: NamedProgram.rule("till", in: place), clock: clock, at: place)
    let account = try scene.registered().account
    let till = try NamedProgram("till", in: place, at: scene.daemon)
    try clock.advance(toNextStepOf: 30)
    let mine = try scene.code(of: account)
    let tills = scene.at(try till.client())
    #expect(try tills.code(of: account) == mine)
    try expectSpent(tills, account)
    try expectSpent(scene, account)
  }

  @Test("another device's secret has had no codes: there is one at once")
  func newSecret() throws {
    let clock = MovableClock()
    let scene = try BSAScene(tables: Self.tables, clock: clock)
    let account = try scene.registered().account
    let handle = try scene.disposeToken()
    try clock.advance(toNextStepOf: 30)
    let before = try scene.code(of: account)
    let end = try scene.start(
      "reregisterDevice",
      [
        "userKey": "alice.01", "name": "Alice Adams", "verifyBy": "email", "authType": "passcode",
        "verifyData": "alice@example.com", "disposeToken": .string(handle),
      ])
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
