import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Every secret of log-ins goes through the daemon, also while it is killed and while the provider
/// repeats what it was sent; afterwards each is looked for wherever it must not be.
@Suite("Canaries, Freedom ID", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct FreedomCanaryTests {
  private static let wrongPassword = "canary-wrong-password-7f3a"
  private static let wrongPasscode = "canary-wrong-passcode-91bc"
  private static let accessToken = "canaryaccesstoken55aa"
  private static let refreshToken = "canaryrefreshtoken1c2d"
  private static let email = "canary.somebody@example.com"

  private let scene: FreedomScene
  private let events: RawClient

  init() throws {
    scene = try FreedomScene(logLevel: "trace")
    try scene.set(["otpDigits": 10, "resendSeconds": 0, "attempts": 20])
    events = try scene.daemon.client()
  }

  /// What was told, and the codes that went through.
  private final class Notes {
    var told: [String] = []
    var codes: [String] = []

    func note(_ flow: JSONValue) -> JSONValue {
      told.append(flow.text)
      return flow
    }
  }

  @Test("no password, code, passcode, API key or token is told or left anywhere; nor who typed it")
  func everywhere() throws {
    let notes = Notes()
    try scene.setTwoFactor("sms", of: "alice")
    let topics: JSONValue = ["flow", "account", "token", "provider", "confirm", "kyc"]
    _ = try events.call("events.subscribe", ["topics": topics])
    try passwords(notes)
    try codes(notes)
    try passcodes(notes)
    try tokens(notes)
    let heard = hear(events)
    try kills(notes)
    try success(notes)
    try search(notes, heard)
  }

  /// A refusal that repeats all that was typed.
  private func echo(_ status: Int64, _ texts: String...) -> JSONValue {
    let text = texts.joined(separator: " is not like ")
    let members: JSONValue = ["message": .string(text), "code": .string("BAD-\(texts[0])")]
    return ["status": .integer(status), "body": ["error": members]]
  }

  private func password(_ scene: FreedomScene, _ email: String) throws -> JSONValue {
    try scene.fill(
      "email", email, at: scene.choose("emailPassword", at: scene.authorize(["read.firstname"])))
  }

  private func passwords(_ notes: Notes) throws {
    let asked = try password(scene, Self.email)
    let again = notes.note(try scene.enter(password: Self.wrongPassword, at: asked))
    #expect(again.problem == "wrong_credentials")
    let long = Self.wrongPassword + String(repeating: "x", count: 256)
    notes.told.append(
      try scene.app.reply(
        to: "flow.submit",
        [
          "flow": again["id"] ?? .null, "revision": again["revision"] ?? .null,
          "input": ["type": "enterPassword", "password": .string(long)],
        ]
      ).text)
    for status: Int64 in [200, 400, 401, 422, 429, 500] {
      try scene.spoil("password", echo(status, Self.wrongPassword, Self.email), times: 1)
      let flow = try password(scene, Self.email)
      let end = notes.note(try scene.enter(password: Self.wrongPassword, at: flow))
      #expect(end["status"] == "failed" || end.problem != nil, "\(status)")
    }
    try scene.spoil("otp", echo(400, FreedomGuest.bob.phone), times: 1)
    let form = try scene.choose("phoneOTP", at: scene.authorize(["read.firstname"]))
    _ = notes.note(try scene.fill("phone", FreedomGuest.bob.phone, at: form))
  }

  private func codes(_ notes: Notes) throws {
    let guest = FreedomGuest.alice.by(.phoneOTP)
    for (endpoint, purpose) in [("verify", "otp"), ("twoFactor", "twoFactor")] {
      for fault in [
        { self.echo(200, $0) }, { self.echo(422, $0) }, { _ in ["reset": true] },
        { _ in ["brokenJSON": true] },
      ] as [(String) -> JSONValue] {
        let flow = try scene.walk(scene.authorize(["read.firstname"]), guest) {
          $0["step"]?["purpose"] == .string(purpose)
        }
        let code = try scene.code()
        let wrong = try scene.wrongCode()
        notes.codes += try scene.messages().compactMap { $0["code"]?.stringValue }
        _ = notes.note(flow)
        let again = notes.note(try scene.enter(code: wrong, at: flow))
        #expect(again.problem == "wrong_code", "\(again.text)")
        try scene.spoil(endpoint, fault(code), times: 1)
        let end = notes.note(try scene.enter(code: code, at: again))
        #expect(end["status"] == "failed" || end.problem != nil)
      }
    }
  }

  private func passcodes(_ notes: Notes) throws {
    try scene.setTwoFactor("off", of: "alice")
    let flow = try scene.standing(at: "localAuth")
    _ = notes.note(try scene.prove(Self.wrongPasscode, at: flow))
    notes.told.append(
      try scene.app.reply(
        to: "localAuth.setPasscode",
        ["old": .string(Self.wrongPasscode), "new": .string(Self.wrongPasscode)]
      ).text)
  }

  /// Tokens that can be told from others; the provider takes them for none of its own.
  private func tokens(_ notes: Notes) throws {
    _ = try scene.app.call("client.clear", ["provider": "freedom"])
    try scene.set([
      "loginReply": [
        "access_token": .string(Self.accessToken), "refresh_token": .string(Self.refreshToken),
      ]
    ])
    let end = notes.note(try scene.walk(scene.authorize(["read.firstname"])))
    #expect(end.failure[1] == "transmissionError.autheticationError", "\(end.text)")
    try scene.set(["loginReply": [:]])
    for method in ["account.list", "token.list", "flow.list", "consent.list"] {
      notes.told.append(try scene.app.call(method).text)
    }
  }

  /// Killed between the input and the provider's answer, at each input that is a secret.
  private func kills(_ notes: Notes) throws {
    for (endpoint, type, guest) in [
      ("password", "enterPassword", FreedomGuest.aigerim),
      ("verify", "enterCode", .aigerim.by(.phoneOTP)), ("twoFactor", "enterCode", .aigerim),
    ] {
      let before = try scene.again()
      _ = try before.app.call("client.clear", ["provider": "freedom"])
      let flow = try before.standing(at: type, ["read.firstname"], guest)
      try scene.spoil(endpoint, ["delayMs": 60_000], times: 1)
      let count = try scene.requests(endpoint)
      _ = try before.submit(before.answer(to: flow, guest), to: flow, waitMs: 0)
      notes.codes += try scene.messages().compactMap { $0["code"]?.stringValue }
      try eventually("it is under way") { try scene.requests(endpoint) == count + 1 }
      scene.daemon.killAtOnce()
      // As the disk was when it died.
      try expectNone(of: secrets(notes), in: files(), "after kill -9 at \(endpoint)")
      try scene.daemon.start()
      let after = try scene.again()
      let asked = notes.note(
        try after.moved(flow, "asks again") { $0.problem == "interrupted" })
      #expect(asked["step"] == flow["step"])
      let end = try after.walk(asked, guest)
      #expect(end["status"] == "succeeded", "\(endpoint): \(end.text)")
      notes.codes += try scene.messages().compactMap { $0["code"]?.stringValue }
    }
  }

  private func success(_ notes: Notes) throws {
    let scene = try scene.again()
    let end = try scene.walk(
      scene.authorize(["read.lastname"]), .aigerim.by(.phoneOTP), granting: ["read.lastname"])
    #expect(end["status"] == "succeeded", "\(end.text)")
    notes.told.append(end.text)
    for arguments in [["config", "show"], ["credential", "list"], ["consent", "list"]] {
      let shown = try scene.daemon.usherctl(arguments)
      #expect(shown.status == 0, "\(shown.errors)")
      notes.told += [shown.output, shown.errors]
    }
  }

  private func secrets(_ notes: Notes) -> [String] {
    [
      Self.wrongPassword, Self.wrongPasscode, Self.accessToken, Self.refreshToken,
      FreedomScene.apiKey, FreedomScene.passcode, "alice-password", "bob-password",
      "aigerim-password",
    ] + Set(notes.codes)
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
    let places = running + files() + environment + [("what was told", told)]
    let names = [
      Self.email, FreedomGuest.alice.phone, FreedomGuest.bob.phone, FreedomGuest.aigerim.phone,
      "447700900123", "Alice", "Aigerim",
    ]
    try expectNone(of: secrets(notes), in: places, "at the end")
    // Nor who signs in, or the profile, but to who was granted it.
    try expectNone(of: names, in: places, "at the end")
    // The search finds what is there, and everything was there to be found.
    #expect(places.contains { $0.1.range(of: Data("wrong_credentials".utf8)) != nil })
    #expect(told.range(of: Data("Sadykova".utf8)) != nil)
    #expect(Set(notes.codes).count >= 8 && notes.codes.allSatisfy { $0.count == 10 })
    #expect(heard.contains { $0.contains("authentication") })
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
