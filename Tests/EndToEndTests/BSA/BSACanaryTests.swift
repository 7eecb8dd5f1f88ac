import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Every secret of registrations goes through the daemon, also while it is killed and while the
/// provider repeats what it was sent; afterwards each is looked for wherever it must not be.
@Suite("Canaries, BSA", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct BSACanaryTests {
  private static let wrongPasscode = "canary-wrong-passcode-91bc"
  private static let otherKey = "canary-other-client-key-7f3a"
  private static let disposeToken = "canary-dispose-token-55aa"
  /// Base32 of 20 bytes.
  private static let secretKey = "CANARYSECRETKEYCANARYSECRETKEY23"
  private static let pushToken = "fcm-push-token-1c2d"

  private let scene: BSAScene
  private let search: CanarySearch

  init() throws {
    scene = try BSAScene(["otp_digits": "10"], logLevel: "trace")
    try scene.set(["otpDigits": 10, "attempts": 20])
    search = try CanarySearch(scene.daemon)
  }

  @Test("no client key, number, disposeToken, secret or passcode is told or left anywhere")
  func everywhere() throws {
    try keys()
    try numbers()
    try proofs()
    try passcodes()
    try secrets()
    try search.recordEvents()
    #expect(search.told.contains { $0.contains("verifyContact") || $0.contains("otpSent") })
    try kills()
    let scene = try scene.again()
    try search.record(scene.account(search.record(scene.registered()).account))
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
    try scene.messages().compactMap { $0["code"]?.stringValue }
  }

  private func all() throws -> [String] {
    [
      Self.wrongPasscode, Self.otherKey, Self.disposeToken, Self.secretKey, BSAScene.clientKey,
      BSAScene.passcode,
    ] + (try sentNumbers())
  }

  /// Refusals that repeat what was sent, each in another way.
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
      scene.verifyContact(by: "email", other),
      scene.start("register", BSAPerson.alice.params() + other),
    ] { #expect(search.record(flow).failure[1] == "2000") }
    for echo in echoes(BSAScene.clientKey) {
      try scene.answers("mail", echo)
      search.record(try scene.verifyContact())
      try scene.answers("idCheck", echo)
      let check: JSONValue = ["provider": "bsa", "userKey": "alice.01"]
      search.record(try scene.app.reply(to: "registration.checkUserKey", check))
    }
    try scene.mend()
  }

  private func numbers() throws {
    for index in 0..<5 {
      var flow = try scene.verifyContact(by: "sms")
      let number = try scene.number()
      flow = search.record(try scene.enter(scene.wrongNumber(), to: flow))
      #expect(flow.problem[0] == "wrong_code", "\(flow.text)")
      try search.recordRefusal(
        of: ["type": "enterCode", "code": .string(number + number)], to: flow, by: scene.app)
      try scene.answers("smsVerify", echoes(number)[index])
      let end = search.record(try scene.enter(number, to: flow))
      #expect(end["status"] == "failed" || end.problem[0] != nil, "\(end.text)")
    }
  }

  /// The provider's own proof, which the daemon keeps for half an hour.
  private func proofs() throws {
    for echo in echoes(Self.disposeToken) {
      try scene.answers("mailVerify", ["data": ["disposeToken": .string(Self.disposeToken)]])
      // The person may be known already: then the sign-up follows at once.
      try scene.answers("users", echo)
      #expect(search.record(try proven(scene.registering(.bob)))["status"] == "failed")
    }
  }

  /// The end of a registration whose person may be known already.
  private func proven(_ flow: JSONValue) throws -> JSONValue {
    flow.stepType == "localAuth" ? try scene.prove(flow) : flow
  }

  private func passcodes() throws {
    let flow = try scene.app.startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "register"])
    let again = search.record(try scene.prove(flow, by: Self.wrongPasscode))
    #expect(again.problem[0] == "wrong_passcode", "\(again.text)")
    search.record(try scene.prove(again))
  }

  /// A registration with a secret that can be told from others, to its good end.
  private func secrets() throws {
    for data: JSONValue in [["secretKey": .string(Self.secretKey + "8")], .null] {
      try scene.answers("users", ["rtCode": 0, "data": data, "rtMsg": .string(Self.secretKey)])
      let end = search.record(try proven(scene.registering(.bob)))
      // The person is registered there: the account is kept, without codes.
      #expect(end["status"] == "succeeded" && end["result"]?["totpProblem"] != nil, "\(end.text)")
    }
    let contact = try scene.verifyContact(.bob)
    search.record(try scene.enter(scene.number(), to: contact))
    try scene.answers("mailVerify", ["data": ["disposeToken": .string(Self.disposeToken)]])
    try scene.answers("users", ["rtCode": 0, "data": ["secretKey": .string(Self.secretKey)]])
    let end = search.record(
      try proven(scene.registering(.bob, by: "email", ["pushToken": .string(Self.pushToken)])))
    #expect(end["status"] == "succeeded", "\(end.text)")
    search.record(try scene.account(end.account))
    try search.recordLists(commands: [])
  }

  /// Killed between what is secret and the provider's answer.
  private func kills() throws {
    for endpoint in ["mailVerify", "users"] {
      let before = try scene.again()
      try before.answers(
        "mailVerify", ["data": ["disposeToken": .string(Self.disposeToken)]],
        times: endpoint == "users" ? 1 : 0)
      var flow = try before.start("register", BSAPerson.alice.params())
      let number = try scene.number()
      flow = try before.holding(endpoint) {
        let next = try before.enter(number, to: flow, waitMs: endpoint == "users" ? 20_000 : 0)
        return next.stepType == "localAuth" ? try before.prove(next, waitMs: 0) : next
      }
      scene.daemon.killAtOnce()
      // As the disk was when it died.
      search.expectNone(of: try all(), in: search.files(), "after kill -9 at \(endpoint)")
      try scene.daemon.start()
      search.record(
        try scene.again().moved(flow, "is told") {
          $0.problem[0] != nil || $0["status"] != "active"
        })
      try scene.mend()
    }
  }
}
