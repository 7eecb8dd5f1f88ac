import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Passes every secret of a registration through the daemon, also while the daemon is killed and
/// while the provider echoes secrets in its answers, then searches files, logs and replies for
/// them.
@Suite("Secrets in BSA registrations", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct BSACanaryTests {
  private static let wrongPasscode = "canary-wrong-passcode-91bc"
  private static let otherKey = "canary-other-client-key-7f3a"
  private static let disposeToken = "canary-dispose-token-55aa"
  /// Base32 of 20 bytes.
  private static let secretKey = "CANARYSECRETKEYCANARYSECRETKEY23"
  private static let pushToken = "fcm-push-token-1c2d"

  private let fixture: BSAFixture
  private let search: CanarySearch

  init() throws {
    fixture = try BSAFixture(["otp_digits": "10"], logLevel: "trace")
    try fixture.set(["otpDigits": 10, "attempts": 20])
    search = try CanarySearch(fixture.daemon)
  }

  @Test("BSA's client key, OTPs, disposeToken, secrets and passcode are in no file, log or reply")
  func everywhere() throws {
    try keys()
    try numbers()
    try proofs()
    try passcodes()
    try secrets()
    try search.recordEvents()
    #expect(search.told.contains { $0.contains("verifyContact") || $0.contains("otpSent") })
    try kills()
    let fixture = try fixture.again()
    try search.record(fixture.account(search.record(fixture.registered()).account))
    try search.recordLists(commands: [
      ["config", "show"], ["credential", "list"], ["account", "list"],
    ])
    let person = [
      "alice@example.com", "447700900123", "Alice Adams", "bob@example.com", "447700900456",
      "Bob Brown", Self.pushToken,
    ]
    let sent = try sentNumbers()
    #expect(sent.count >= 8 && sent.allSatisfy { $0.count == 10 })
    try search.expectNone(
      of: all(), people: person, found: ["wrong_code", "\"disposeToken\":\"dsp_"])
  }

  private func sentNumbers() throws -> [String] {
    try fixture.messages().compactMap { $0["code"]?.stringValue }
  }

  private func all() throws -> [String] {
    [
      Self.wrongPasscode, Self.otherKey, Self.disposeToken, Self.secretKey, BSAFixture.clientKey,
      BSAFixture.passcode,
    ] + (try sentNumbers())
  }

  /// Refusals that echo a text, each in another member or with another status.
  private func echoes(_ text: String) -> [JSONValue] {
    let message: JSONValue = .string("this is wrong: \(text)")
    return [
      ["rtCode": 2013, "rtMsg": message], ["rtCode": 4711, "rtMsg": message, "status": 400],
      ["text": message], ["text": message, "status": 400], ["text": message, "status": 502],
    ]
  }

  private func keys() throws {
    let other: JSONValue = ["clientKey": .string(Self.otherKey)]
    for flow in try [
      fixture.verifyContact(by: "email", other),
      fixture.start("register", BSAPerson.alice.params() + other),
    ] { #expect(search.record(flow).failure[1] == "2000") }
    for echo in echoes(BSAFixture.clientKey) {
      try fixture.answers("mail", echo)
      search.record(try fixture.verifyContact())
      try fixture.answers("idCheck", echo)
      let check: JSONValue = ["provider": "bsa", "userKey": "alice.01"]
      search.record(try fixture.app.reply(to: "registration.checkUserKey", check))
    }
    try fixture.mend()
  }

  private func numbers() throws {
    for index in 0..<5 {
      var flow = try fixture.verifyContact(by: "sms")
      let number = try fixture.number()
      flow = search.record(try fixture.enter(fixture.wrongNumber(), to: flow))
      #expect(flow.problem[0] == "wrong_code", "\(flow.text)")
      try search.recordRefusal(
        of: ["type": "enterCode", "code": .string(number + number)], to: flow, by: fixture.app)
      try fixture.answers("smsVerify", echoes(number)[index])
      let end = search.record(try fixture.enter(number, to: flow))
      #expect(end["status"] == "failed" || end.problem[0] != nil, "\(end.text)")
    }
  }

  /// Fails sign-ups while the daemon holds the provider's disposeToken, which it keeps for 30
  /// minutes.
  private func proofs() throws {
    for echo in echoes(Self.disposeToken) {
      try fixture.answers("mailVerify", ["data": ["disposeToken": .string(Self.disposeToken)]])
      // After a recent local authentication the sign-up starts without a localAuth step.
      try fixture.answers("users", echo)
      #expect(search.record(try proven(fixture.registering(.bob)))["status"] == "failed")
    }
  }

  /// Completes a registration, with the passcode if the flow asks for it.
  private func proven(_ flow: JSONValue) throws -> JSONValue {
    flow.stepType == "localAuth" ? try fixture.prove(flow) : flow
  }

  private func passcodes() throws {
    let flow = try fixture.app.startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "register"])
    let again = search.record(try fixture.prove(flow, by: Self.wrongPasscode))
    #expect(again.problem[0] == "wrong_passcode", "\(again.text)")
    search.record(try fixture.prove(again))
  }

  /// Registers with TOTP secrets that cannot be used, then with a usable canary.
  private func secrets() throws {
    for data: JSONValue in [["secretKey": .string(Self.secretKey + "8")], .null] {
      try fixture.answers("users", ["rtCode": 0, "data": data, "rtMsg": .string(Self.secretKey)])
      let end = search.record(try proven(fixture.registering(.bob)))
      // The provider has registered the person, so the account is kept, but without TOTP codes.
      #expect(end["status"] == "succeeded" && end["result"]?["totpProblem"] != nil, "\(end.text)")
    }
    let contact = try fixture.verifyContact(.bob)
    search.record(try fixture.enter(fixture.number(), to: contact))
    try fixture.answers("mailVerify", ["data": ["disposeToken": .string(Self.disposeToken)]])
    try fixture.answers("users", ["rtCode": 0, "data": ["secretKey": .string(Self.secretKey)]])
    let end = search.record(
      try proven(fixture.registering(.bob, by: "email", ["pushToken": .string(Self.pushToken)])))
    #expect(end["status"] == "succeeded", "\(end.text)")
    search.record(try fixture.account(end.account))
    try search.recordLists(commands: [])
  }

  /// Kills the daemon while a request that carries a secret is unanswered.
  private func kills() throws {
    for endpoint in ["mailVerify", "users"] {
      let before = try fixture.again()
      try before.answers(
        "mailVerify", ["data": ["disposeToken": .string(Self.disposeToken)]],
        times: endpoint == "users" ? 1 : 0)
      var flow = try before.start("register", BSAPerson.alice.params())
      let number = try fixture.number()
      flow = try before.holding(endpoint) {
        let next = try before.enter(number, to: flow, waitMs: endpoint == "users" ? 60_000 : 0)
        return next.stepType == "localAuth" ? try before.prove(next, waitMs: 0) : next
      }
      fixture.daemon.killAtOnce()
      // The files as they were when the daemon died.
      search.expectNone(of: try all(), in: search.files(), "after kill -9 at \(endpoint)")
      try fixture.daemon.start()
      search.record(
        try fixture.again().moved(flow, "has a problem or has ended") {
          $0.problem[0] != nil || $0["status"] != "active"
        })
      try fixture.mend()
    }
  }
}
