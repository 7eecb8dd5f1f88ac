import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What people type wrongly, and what the provider does that it should not, in log-ins.
@Suite("Freedom ID's log-in and bad input", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomBadInputTests {
  private let scene: FreedomScene

  init() throws {
    scene = try FreedomScene()
    try scene.set(["resendSeconds": 0])
  }

  /// A flow that asks for the password of whoever has this address.
  private func password(of email: String) throws -> JSONValue {
    try scene.fill(
      "email", email, at: scene.choose("emailPassword", at: scene.authorize(["read.firstname"])))
  }

  @Test("which of name and password is wrong is not told: the answers are the same")
  func wrongFactor() throws {
    let known = try scene.enter(
      password: "not it", at: password(of: "alice@example.com"))
    let unknown = try scene.enter(
      password: "alice-password", at: password(of: "nobody@example.com"))
    #expect(known.problem == "wrong_credentials" && known.stepType == "enterPassword")
    #expect(known["problem"] == unknown["problem"], "\(known.text) \(unknown.text)")
    #expect(known["step"] == unknown["step"] && known.state == unknown.state)
    #expect(known["problem"]?["provider"]?["message"] == nil)
    // An unknown number gets a challenge like any other.
    let guest = FreedomGuest(name: "nobody", way: .phoneOTP)
    var flow = try scene.choose("phoneOTP", at: scene.authorize(["read.firstname"]))
    flow = try scene.fill("phone", "+447700900999", at: flow)
    #expect(flow.stepType == "enterCode", "\(flow.text) \(guest.name)")
    #expect(flow["step"]?["maskedTarget"] == "+4 ••• 99")
    #expect(try scene.messages().isEmpty)
    #expect(try scene.enter(code: "000000", at: flow).problem == "wrong_code")
    #expect(try scene.enter(password: "alice-password", at: known).state == "home")
  }

  @Test("what cannot be a name, a password or a code asks nobody")
  func unfit() throws {
    var flow = try scene.choose("phonePassword", at: scene.authorize(["read.firstname"]))
    for fields: JSONValue in [
      ["phone": "447700900123"], ["phone": "+123"], ["phone": "+1234567890123456"],
      ["phone": "+44 77009x0123"], ["phone": ""],
    ] {
      #expect(
        try scene.refusal(["type": "fillForm", "fields": fields], to: flow)
          == ["invalid_input", "input.fields.phone"], "\(fields.text)")
    }
    for fields: JSONValue in [["email": "alice@example.com"], [:]] {
      #expect(
        try scene.refusal(["type": "fillForm", "fields": fields], to: flow)[0] == "invalid_input")
    }
    flow = try scene.fill("phone", "+447700900123", at: flow)
    for password in ["", String(repeating: "x", count: 257)] {
      #expect(
        try scene.refusal(
          ["type": "enterPassword", "password": .string(password)], to: flow)
          == ["invalid_input", "input.password"])
    }
    #expect(try scene.requests("password") == 0)
    try scene.setTwoFactor("sms", of: "alice")
    flow = try scene.enter(password: "alice-password", at: flow)
    for code in ["", "12345", "1234567", "12345a", "１２３４５６", " 12345"] {
      #expect(
        try scene.refusal(["type": "enterCode", "code": .string(code)], to: flow)
          == ["invalid_input", "input.code"], "\(code)")
    }
    #expect(try scene.requests("twoFactor") == 0)
    #expect(try scene.refusal(["type": "choose", "id": "other"], to: flow)[0] != nil)
    #expect(try scene.flow(flow) == flow)
  }

  @Test("too many failures lock the log-in: the time is told, and a restart opens nothing")
  func lockOut() throws {
    try scene.set(["attempts": 3, "lockSeconds": 200])
    var flow = try password(of: "alice@example.com")
    for _ in 0..<2 {
      flow = try scene.enter(password: "wrong", at: flow)
      #expect(flow.problem == "wrong_credentials", "\(flow.text)")
    }
    let end = try scene.enter(password: "wrong", at: flow)
    #expect(end.failure == ["attempts_exhausted", "authError", "100204"], "\(end.text)")
    let message = end["failure"]?["message"]?.stringValue ?? ""
    let left = message.firstMatch(of: /([0-9]+) seconds/).flatMap { Int($0.1) } ?? 0
    #expect((190...200).contains(left), "\(message)")
    try scene.daemon.restart()
    let after = try scene.again()
    // The right one, by whichever way the name is typed.
    let again = try after.walk(after.authorize(["read.firstname"]))
    #expect(again.failure == ["attempts_exhausted", "authError", "100204"], "\(again.text)")
    #expect(try after.walk(after.authorize(["read.firstname"]), .bob)["status"] == "succeeded")
    try scene.sandbox.control("POST", "freedomid/unlock")
    let home = try after.authorize(["read.firstname"])
    #expect(try after.walk(after.choose("other", at: home))["status"] == "succeeded")
  }

  @Test("2FA: a wrong code tells how many are left, and the last one locks")
  func wrongSecondFactor() throws {
    try scene.set(["attempts": 3])
    var flow = try scene.standing(at: "enterCode", ["read.firstname"], .aigerim)
    for left in [2, 1] {
      flow = try scene.enter(code: scene.wrongCode(), at: flow)
      #expect(flow.problem == "wrong_code" && flow.stepType == "enterCode", "\(flow.text)")
      #expect(flow["step"]?["attemptsLeft"] == .integer(Int64(left)))
    }
    let end = try scene.enter(code: scene.wrongCode(), at: flow)
    #expect(end.failure == ["attempts_exhausted", "authError", "100204"], "\(end.text)")
    #expect(try scene.accounts().isEmpty)
  }

  @Test("2FA: a code whose time is over is not sent; another one is good")
  func lateSecondFactor() throws {
    try scene.set(["otpSeconds": 1])
    let flow = try scene.standing(at: "enterCode", ["read.firstname"], .aigerim)
    let end = try (flow["step"] ?? .null).time("expiresAt")
    try eventually("its time is over") { Date() > end }
    let late = try scene.enter(code: scene.code(), at: flow)
    #expect(late.problem == "code_expired" && late.stepType == "enterCode", "\(late.text)")
    #expect(try scene.requests("twoFactor") == 0)
    try scene.set(["otpSeconds": 300])
    let fresh = try scene.submit(["type": "enterCode", "resend": true], to: late)
    #expect(fresh.problem == nil && fresh.stepType == "enterCode", "\(fresh.text)")
    #expect(try scene.messages().count == 2)
    #expect(try scene.walk(fresh, .aigerim)["status"] == "succeeded")
  }

  @Test("2FA: one that the provider calls expired can be had again, and back leads to the ways")
  func expiredSecondFactor() throws {
    let flow = try scene.standing(at: "enterCode", ["read.firstname"], .aigerim)
    try scene.spoil(
      "twoFactor",
      ["status": 410, "body": ["error": ["message": "the code is over", "code": 100_203]]],
      times: 1)
    let late = try scene.enter(code: scene.code(), at: flow)
    #expect(late.problem == "code_expired", "\(late.text)")
    let ways = try scene.back(late)
    #expect(ways["step"]?["what"] == "loginMethod", "\(ways.text)")
    #expect(try scene.walk(ways, .aigerim)["status"] == "succeeded")
  }

  @Test("too early for another code: told how long, by the daemon itself and by the provider")
  func tooEarly() throws {
    try scene.set(["resendSeconds": 50])
    let flow = try scene.standing(at: "enterCode", ["read.firstname"], .alice.by(.phoneOTP))
    let early = try scene.submit(["type": "enterCode", "resend": true], to: flow)
    #expect(early.problem == "too_early" && early["step"] == flow["step"], "\(early.text)")
    let wait = early["problem"]?["retryAfterMs"]?.integerValue ?? 0
    #expect((40_000...50_000).contains(wait))
    #expect(try scene.requests("resend") == 0)
    try scene.set([
      "challengeReply": ["resend_at": "2020-01-01T00:00:00Z"], "resendSeconds": 50,
    ])
    let other = try scene.standing(at: "enterCode", ["read.firstname"], .bob.by(.phoneOTP))
    let refused = try scene.submit(["type": "enterCode", "resend": true], to: other)
    #expect(refused.problem == "too_early", "\(refused.text)")
    #expect(try scene.requests("resend") == 1)
    #expect(try scene.walk(refused, .bob)["status"] == "succeeded")
  }

  @Test("errors inside HTTP 200 are errors")
  func inside200() throws {
    try scene.set(["errorsInside200": true, "attempts": 3])
    let wrong = try scene.enter(password: "not it", at: password(of: "alice@example.com"))
    #expect(wrong.problem == "wrong_credentials", "\(wrong.text)")
    var flow = try scene.standing(at: "enterCode", ["read.firstname"], .aigerim)
    flow = try scene.enter(code: scene.wrongCode(), at: flow)
    #expect(flow.problem == "wrong_code", "\(flow.text)")
    let asked = try scene.walk(flow, .aigerim) { $0.stepType == "consent" }
    try scene.set(["closedAccounts": ["aigerim"], "errorsInside200": true])
    let end = try scene.walk(asked, .aigerim)
    #expect(end.failure == ["denied", "accessDenied", "100301"], "\(end.text)")
    try scene.set(["knowsDevices": false])
    #expect(
      try scene.authorize(["read.firstname"]).failure
        == ["provider_rejected", "transmissionError.identificationError", "100002"])
  }

  @Test("an access token that is over is renewed by PATCH, and nobody notices")
  func renewed() throws {
    try scene.authorized(["read.firstname"])
    try scene.sandbox.control("POST", "freedomid/expireTokens")
    try scene.authorized(["read.lastname"])
    #expect(try scene.requests("renew") == 1)
    #expect(try scene.requests("password") == 1)
  }

  @Test("a renewal that is refused: the person signs in again, is the same, and goes on")
  func renewalRefused() throws {
    let account = try scene.authorized(["read.firstname"])["result"]?["account"]
    let asked = try scene.standing(at: "consent", ["read.firstname", "read.lastname"])
    try scene.sandbox.control("POST", "freedomid/expireTokens", ["kind": "all"])
    let again = try scene.walk(asked) { $0.state == "authentication" }
    #expect(again.problem == "signed_out" && again.stepType == "choose", "\(again.text)")
    #expect(try scene.requests("renew") == 1)
    let end = try scene.walk(again)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["result"]?["account"] == account)
    #expect(end.profile == ["firstname": "Alice", "lastname": "Adams"])
    #expect(try scene.accounts().count == 1)
  }

  @Test("a provider that is down for a moment: a problem that is told, then it goes on by itself")
  func downForAMoment() throws {
    try scene.spoil("accounts", ["status": 503], times: 1)
    let flow = try scene.start(["read.firstname"])
    let down = try scene.moved(flow, "tells the problem") { $0.problem != nil }
    #expect(down.problem == "provider_unreachable" && down.state == "accountCheck")
    let up = try scene.moved(down, "goes on") { $0.state == "authentication" }
    #expect(up.problem == nil, "\(up.text)")
    let asked = try scene.walk(up) { $0.stepType == "consent" }
    try scene.spoil("consent", ["reset": true, "processed": true], times: 1)
    let sent = try scene.submit(scene.answer(to: asked), to: asked, waitMs: 0)
    let troubled = try scene.moved(sent, "tells the problem") { $0.problem != nil }
    #expect(troubled.state == "completion", "\(troubled.text)")
    #expect(try scene.app.finished(troubled)["status"] == "succeeded")
    #expect(try scene.list("consents").count == 1)
  }

  @Test(
    "where a password may have been counted it is the person's to repeat",
    arguments: [
      ["reset": true], ["status": 500], ["status": 503], ["delayMs": 100, "halfBody": true],
    ] as [JSONValue])
  func passwordMayBeCounted(fault: JSONValue) throws {
    try scene.spoil("password", fault, times: 1)
    let flow = try scene.standing(at: "enterPassword")
    let again = try scene.enter(password: "alice-password", at: flow)
    #expect(again.problem == "provider_unreachable", "\(again.text)")
    #expect(again["step"] == flow["step"])
    #expect(try scene.requests("password") == 1)
    #expect(try scene.walk(again)["status"] == "succeeded")
  }
}
