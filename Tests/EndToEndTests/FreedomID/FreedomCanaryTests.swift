import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Passes every secret of a log-in through the daemon, also while the daemon is killed and while
/// the provider echoes secrets in its answers, then searches files, logs and replies for them.
@Suite("Secrets in Freedom ID log-ins", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct FreedomCanaryTests {
  private static let wrongPassword = "canary-wrong-password-7f3a"
  private static let wrongPasscode = "canary-wrong-passcode-91bc"
  private static let accessToken = "canaryaccesstoken55aa"
  private static let refreshToken = "canaryrefreshtoken1c2d"
  private static let email = "canary.somebody@example.com"
  private static let grants = ["read.firstname"]

  private let fixture: FreedomFixture
  private let search: CanarySearch

  init() throws {
    fixture = try FreedomFixture(logLevel: "trace")
    try fixture.set(["otpDigits": 10, "resendSeconds": 0, "attempts": 20])
    search = try CanarySearch(fixture.daemon)
  }

  @Test("passwords, codes, keys, tokens and names of Freedom ID are in no file, log or reply")
  func everywhere() throws {
    try fixture.setTwoFactor("sms", of: "alice")
    try passwords()
    try codes()
    try passcodes()
    try tokens()
    try search.recordEvents()
    #expect(search.told.contains { $0.contains("events.notify") && $0.contains("authentication") })
    try kills()
    let end = search.record(
      try fixture.again().walk(
        fixture.again().authorize(["read.lastname"]), .aigerim.by(.phoneOTP),
        granting: ["read.lastname"]))
    #expect(end["status"] == "succeeded", "\(end.text)")
    try search.recordLists(
      [], commands: [["config", "show"], ["credential", "list"], ["consent", "list"]])
    let names = [
      Self.email, FreedomGuest.alice.phone, FreedomGuest.bob.phone, FreedomGuest.aigerim.phone,
      "447700900123", "Alice", "Aigerim",
    ]
    let sent = try sentCodes()
    #expect(Set(sent).count >= 8 && sent.allSatisfy { $0.count == 10 })
    // Names, phone numbers and profile are absent as well, except for the granted member.
    try search.expectNone(of: secrets() + names, found: ["wrong_credentials", "Sadykova"])
  }

  private func sentCodes() throws -> [String] {
    try fixture.messages().compactMap { $0["code"]?.stringValue }
  }

  private func secrets() throws -> [String] {
    [
      Self.wrongPassword, Self.wrongPasscode, Self.accessToken, Self.refreshToken,
      FreedomFixture.apiKey, FreedomFixture.passcode, "alice-password", "bob-password",
      "aigerim-password",
    ] + (try sentCodes())
  }

  /// Returns a refusal that echoes texts.
  private func echo(_ status: Int64, _ texts: String...) -> JSONValue {
    let text = texts.joined(separator: " is not like ")
    let members: JSONValue = ["message": .string(text), "code": .string("BAD-\(texts[0])")]
    return ["status": .integer(status), "body": ["error": members]]
  }

  private func password(_ email: String) throws -> JSONValue {
    try fixture.fill(
      "email", email, at: fixture.choose("emailPassword", at: fixture.authorize(Self.grants)))
  }

  private func passwords() throws {
    let again = search.record(
      try fixture.enter(password: Self.wrongPassword, at: password(Self.email)))
    #expect(again.problem == "wrong_credentials")
    let long = Self.wrongPassword + String(repeating: "x", count: 256)
    try search.recordRefusal(
      of: ["type": "enterPassword", "password": .string(long)], to: again, by: fixture.app)
    for status: Int64 in [200, 400, 401, 422, 429, 500] {
      try fixture.spoil("password", echo(status, Self.wrongPassword, Self.email), times: 1)
      let end = search.record(
        try fixture.enter(password: Self.wrongPassword, at: password(Self.email)))
      #expect(end["status"] == "failed" || end.problem != nil, "\(status)")
    }
    try fixture.spoil("otp", echo(400, FreedomGuest.bob.phone), times: 1)
    let form = try fixture.choose("phoneOTP", at: fixture.authorize(Self.grants))
    search.record(try fixture.fill("phone", FreedomGuest.bob.phone, at: form))
  }

  private func codes() throws {
    let guest = FreedomGuest.alice.by(.phoneOTP)
    let faults: [(String) -> JSONValue] = [
      { self.echo(200, $0) }, { self.echo(422, $0) }, { _ in ["reset": true] },
      { _ in ["brokenJSON": true] },
    ]
    for (endpoint, purpose) in [("verify", "otp"), ("twoFactor", "twoFactor")] {
      for fault in faults {
        let flow = search.record(
          try fixture.walk(fixture.authorize(Self.grants), guest) {
            $0["step"]?["purpose"] == .string(purpose)
          })
        let code = try fixture.code()
        let again = search.record(try fixture.enter(code: fixture.wrongCode(), at: flow))
        #expect(again.problem == "wrong_code", "\(again.text)")
        try fixture.spoil(endpoint, fault(code), times: 1)
        let end = search.record(try fixture.enter(code: code, at: again))
        #expect(end["status"] == "failed" || end.problem != nil)
      }
    }
  }

  private func passcodes() throws {
    try fixture.setTwoFactor("off", of: "alice")
    let flow = try fixture.standing(at: "localAuth")
    search.record(try fixture.prove(Self.wrongPasscode, at: flow))
    let change: JSONValue = [
      "old": .string(Self.wrongPasscode), "new": .string(Self.wrongPasscode),
    ]
    search.record(try fixture.app.reply(to: "localAuth.setPasscode", change))
  }

  /// Logs in with canary tokens, which the provider then refuses.
  private func tokens() throws {
    _ = try fixture.app.call("client.clear", ["provider": "freedom"])
    try fixture.set([
      "loginReply": [
        "access_token": .string(Self.accessToken), "refresh_token": .string(Self.refreshToken),
      ]
    ])
    let end = search.record(try fixture.walk(fixture.authorize(Self.grants)))
    #expect(end.failure[1] == "transmissionError.autheticationError", "\(end.text)")
    try fixture.set(["loginReply": [:]])
    try search.recordLists(commands: [])
  }

  /// Kills the daemon between each secret input and the provider's answer.
  private func kills() throws {
    for (endpoint, type, guest) in [
      ("password", "enterPassword", FreedomGuest.aigerim),
      ("verify", "enterCode", .aigerim.by(.phoneOTP)), ("twoFactor", "enterCode", .aigerim),
    ] {
      let before = try fixture.again()
      _ = try before.app.call("client.clear", ["provider": "freedom"])
      let flow = try before.standing(at: type, Self.grants, guest)
      _ = try before.holding(endpoint) {
        try before.submit(before.answer(to: flow, guest), to: flow, waitMs: 0)
      }
      fixture.daemon.killAtOnce()
      // The files as they were when the daemon died.
      search.expectNone(of: try secrets(), in: search.files(), "after kill -9 at \(endpoint)")
      try fixture.daemon.start()
      let after = try fixture.again()
      let asked = search.record(
        try after.moved(flow, "asks again") { $0.problem == "interrupted" })
      #expect(asked["step"] == flow["step"])
      let end = try after.walk(asked, guest)
      #expect(end["status"] == "succeeded", "\(endpoint): \(end.text)")
    }
  }
}
