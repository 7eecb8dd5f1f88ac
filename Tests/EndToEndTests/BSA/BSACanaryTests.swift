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
  private let events: RawClient

  init() throws {
    scene = try BSAScene(["otp_digits": "10"], logLevel: "trace")
    try scene.set(["otpDigits": 10, "attempts": 20])
    events = try scene.daemon.client()
  }

  /// What was told, and the numbers that went through.
  private final class Notes {
    var told: [String] = []
    var numbers: [String] = []

    func note(_ flow: JSONValue) -> JSONValue {
      told.append(flow.text)
      return flow
    }
  }

  @Test("no client key, number, disposeToken, secret or passcode is told or left anywhere")
  func everywhere() throws {
    let notes = Notes()
    _ = try events.call(
      "events.subscribe", ["topics": ["flow", "account", "token", "provider", "confirm"]])
    try keys(notes)
    try numbers(notes)
    try proofs(notes)
    try passcodes(notes)
    try secrets(notes)
    let heard = hear(events)
    try kills(notes)
    try success(notes)
    try search(notes, heard)
  }

  /// Refusals that repeat what was sent, each in another way.
  private func echoes(_ text: String) -> [JSONValue] {
    let message: JSONValue = .string("this is wrong: \(text)")
    return [
      ["rtCode": 2013, "rtMsg": message], ["rtCode": 4711, "rtMsg": message, "status": 400],
      ["text": message], ["text": message, "status": 400],
      ["text": message, "status": 502],
    ]
  }

  private func note(_ error: JSONValue, in notes: Notes) { notes.told.append(error.text) }

  private func keys(_ notes: Notes) throws {
    let other: JSONValue = ["clientKey": .string(Self.otherKey)]
    #expect(notes.note(try scene.verifyContact(by: "email", other)).failure[1] == "2000")
    #expect(
      notes.note(try scene.start("register", BSAPerson.alice.params() + other)).failure[1]
        == "2000")
    for echo in echoes(BSAScene.clientKey) {
      try scene.answers("mail", echo)
      _ = notes.note(try scene.verifyContact())
      try scene.answers("idCheck", echo)
      note(
        try scene.app.reply(
          to: "registration.checkUserKey", ["provider": "bsa", "userKey": "alice.01"]),
        in: notes)
    }
    try scene.mend()
  }

  private func numbers(_ notes: Notes) throws {
    for index in 0..<5 {
      var flow = try scene.verifyContact(by: "sms")
      let number = try scene.number()
      let wrong = try scene.wrongNumber()
      notes.numbers.append(number)
      flow = notes.note(try scene.enter(wrong, to: flow))
      #expect(flow.problem[0] == "wrong_code", "\(flow.text)")
      let long: JSONValue = ["type": "enterCode", "code": .string(number + number)]
      note(
        try scene.app.reply(
          to: "flow.submit",
          ["flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "input": long]),
        in: notes)
      try scene.answers("smsVerify", echoes(number)[index])
      let end = notes.note(try scene.enter(number, to: flow))
      #expect(end["status"] == "failed" || end.problem[0] != nil, "\(end.text)")
    }
  }

  /// The provider's own proof, which the daemon keeps for half an hour.
  private func proofs(_ notes: Notes) throws {
    for echo in echoes(Self.disposeToken) {
      try scene.answers("mailVerify", ["data": ["disposeToken": .string(Self.disposeToken)]])
      // The person may be known already: then the sign-up follows at once.
      try scene.answers("users", echo)
      #expect(notes.note(try proven(scene.registering(.bob)))["status"] == "failed")
    }
  }

  /// The end of a registration whose person may be known already.
  private func proven(_ flow: JSONValue) throws -> JSONValue {
    flow.stepType == "localAuth" ? try scene.prove(flow) : flow
  }

  private func passcodes(_ notes: Notes) throws {
    let flow = try scene.app.startFlow(
      "local", "authenticate", params: ["localAuthType": "passcode", "reason": "register"])
    let again = notes.note(try scene.prove(flow, by: Self.wrongPasscode))
    #expect(again.problem[0] == "wrong_passcode", "\(again.text)")
    _ = notes.note(try scene.prove(again))
  }

  /// A registration with a secret that can be told from others, to its good end.
  private func secrets(_ notes: Notes) throws {
    for data: JSONValue in [["secretKey": .string(Self.secretKey + "8")], .null] {
      try scene.answers("users", ["rtCode": 0, "data": data, "rtMsg": .string(Self.secretKey)])
      let end = notes.note(try proven(scene.registering(.bob)))
      // The person is registered there: the account is kept, without codes.
      #expect(end["status"] == "succeeded", "\(end.text)")
      #expect(end["result"]?["totpProblem"] != nil, "\(end.text)")
    }
    let contact = try scene.verifyContact(.bob)
    _ = notes.note(try scene.enter(scene.number(), to: contact))
    try scene.answers("mailVerify", ["data": ["disposeToken": .string(Self.disposeToken)]])
    try scene.answers("users", ["rtCode": 0, "data": ["secretKey": .string(Self.secretKey)]])
    let end = notes.note(
      try proven(scene.registering(.bob, by: "email", ["pushToken": .string(Self.pushToken)])))
    #expect(end["status"] == "succeeded", "\(end.text)")
    notes.told.append(try scene.account(end.account).text)
    for method in ["account.list", "token.list", "flow.list", "totp.list", "provider.list"] {
      notes.told.append(try scene.app.call(method).text)
    }
  }

  /// Killed between what is secret and the provider's answer.
  private func kills(_ notes: Notes) throws {
    for endpoint in ["mailVerify", "users"] {
      let before = try scene.again()
      try before.answers(
        "mailVerify", ["data": ["disposeToken": .string(Self.disposeToken)]],
        times: endpoint == "users" ? 1 : 0)
      var flow = try before.start("register", BSAPerson.alice.params())
      let number = try scene.number()
      notes.numbers.append(number)
      flow = try before.holding(endpoint) {
        let next = try before.enter(number, to: flow, waitMs: endpoint == "users" ? 20_000 : 0)
        return next.stepType == "localAuth" ? try before.prove(next, waitMs: 0) : next
      }
      scene.daemon.killAtOnce()
      // As the disk was when it died.
      try expectNone(of: all(notes), in: files(), "after kill -9 at \(endpoint)")
      try scene.daemon.start()
      let after = try scene.again()
      _ = notes.note(
        try after.moved(flow, "is told") { $0.problem[0] != nil || $0["status"] != "active" })
      try scene.mend()
    }
  }

  private func success(_ notes: Notes) throws {
    let scene = try scene.again()
    let end = notes.note(try scene.registered())
    notes.numbers += try scene.messages().compactMap { $0["code"]?.stringValue }
    notes.told.append(try scene.account(end.account).text)
    for arguments in [["config", "show"], ["credential", "list"], ["account", "list"]] {
      let shown = try scene.daemon.usherctl(arguments)
      #expect(shown.status == 0, "\(shown.errors)")
      notes.told += [shown.output, shown.errors]
    }
  }

  private func all(_ notes: Notes) -> [String] {
    [
      Self.wrongPasscode, Self.otherKey, Self.disposeToken, Self.secretKey, BSAScene.clientKey,
      BSAScene.passcode,
    ] + Set(notes.numbers)
  }

  private func files() -> [(String, Data)] {
    scene.daemon.place.everything().filter { !$0.name.contains("master.key") }
      .map { ($0.name, $0.bytes) }
  }

  private func hear(_ client: RawClient) -> [String] {
    var told: [String] = []
    while let line = try? client.receiveLine(within: 1) {
      told.append(String(decoding: line, as: UTF8.self))
    }
    return told
  }

  private func search(_ notes: Notes, _ heard: [String]) throws {
    let environment = ["cmdline", "environ"].map { name in
      let path = "/proc/\(scene.daemon.pid)/\(name)"
      return ("process", FileManager.default.contents(atPath: path) ?? Data())
    }
    let running = files()
    #expect(try scene.daemon.stop() == 0)
    let told = Data((notes.told + heard).joined(separator: "\n").utf8)
    let left = running + files() + environment
    try expectNone(of: all(notes), in: left + [("what was told", told)], "at the end")
    // Nor who registers, on the disk and in the log.
    let person = [
      "alice@example.com", "447700900123", "Alice Adams", "bob@example.com", "447700900456",
      "Bob Brown", Self.pushToken,
    ]
    try expectNone(of: person, in: left, "at the end")
    // The search finds what is there, and everything was there to be found.
    #expect(told.range(of: Data("wrong_code".utf8)) != nil)
    #expect(told.range(of: Data("\"disposeToken\":\"dsp_".utf8)) != nil)
    #expect(Set(notes.numbers).count >= 8 && notes.numbers.allSatisfy { $0.count == 10 })
    #expect(heard.contains { $0.contains("verifyContact") || $0.contains("otpSent") })
    #expect(files().contains { $0.0.hasSuffix("usherd.log") && $0.1.count > 1000 })
  }

  private func expectNone(
    of secrets: [String], in places: [(String, Data)], _ moment: String
  ) throws {
    for (name, bytes) in places {
      for secret in secrets {
        let forms = [Data(secret.utf8), Data(Data(secret.utf8).base64EncodedString().utf8)]
        #expect(
          forms.allSatisfy { bytes.range(of: $0) == nil },
          "\(moment): \(secret.prefix(8))… is in \(name)")
      }
    }
  }
}
