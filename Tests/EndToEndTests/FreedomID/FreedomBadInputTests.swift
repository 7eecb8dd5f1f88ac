import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Log-ins with wrong input, and with faults of the provider.
@Suite("Freedom ID log-ins with wrong input", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomBadInputTests {
  private let fixture: FreedomFixture

  init() throws {
    fixture = try FreedomFixture()
    try fixture.set(["resendSeconds": 0])
  }

  /// Starts a log-in and returns it at the step that asks for the password of an e-mail address.
  private func password(of email: String) throws -> JSONValue {
    try fixture.fill(
      "email", email, at: fixture.choose("emailPassword", at: fixture.authorize(["read.firstname"]))
    )
  }

  @Test("a Freedom ID log-in does not reveal whether an e-mail address or phone number is known")
  func wrongFactor() throws {
    let known = try fixture.enter(
      password: "not it", at: password(of: "alice@example.com"))
    let unknown = try fixture.enter(
      password: "alice-password", at: password(of: "nobody@example.com"))
    #expect(known.problem == "wrong_credentials" && known.stepType == "enterPassword")
    #expect(known["problem"] == unknown["problem"], "\(known.text) \(unknown.text)")
    #expect(known["step"] == unknown["step"] && known.state == unknown.state)
    #expect(known["problem"]?["provider"]?["message"] == nil)
    // An unknown number gets a challenge like any other.
    var flow = try fixture.choose("phoneOTP", at: fixture.authorize(["read.firstname"]))
    flow = try fixture.fill("phone", "+447700900999", at: flow)
    #expect(flow.stepType == "enterCode", "\(flow.text)")
    #expect(flow["step"]?["maskedTarget"] == "+4 ••• 99")
    #expect(try fixture.messages().isEmpty)
    #expect(try fixture.enter(code: "000000", at: flow).problem == "wrong_code")
    #expect(try fixture.enter(password: "alice-password", at: known).state == "home")
  }

  @Test("a malformed phone number, password or code is refused without a request to Freedom ID")
  func unfit() throws {
    var flow = try fixture.choose("phonePassword", at: fixture.authorize(["read.firstname"]))
    func isRefused(_ input: JSONValue, _ field: String) throws {
      #expect(try fixture.refusal(input, to: flow) == ("invalid_input", field), "\(input.text)")
      #expect(try fixture.flow(flow) == flow)
    }
    try isRefused(
      ["type": "fillForm", "fields": ["phone": "+44 77009x0123"]], "input.fields.phone")
    flow = try fixture.fill("phone", "+447700900123", at: flow)
    try isRefused(["type": "enterPassword", "password": ""], "input.password")
    #expect(try fixture.requests("password") == 0)
    try fixture.setTwoFactor("sms", of: "alice")
    flow = try fixture.enter(password: "alice-password", at: flow)
    try isRefused(["type": "enterCode", "code": "１２３４５６"], "input.code")
    #expect(try fixture.requests("twoFactor") == 0)
    #expect(try fixture.refusal(["type": "choose", "id": "other"], to: flow).0 != nil)
  }

  @Test("too many wrong passwords lock the Freedom ID log-in for a time, also across a restart")
  func lockOut() throws {
    try fixture.set(["attempts": 3, "lockSeconds": 200])
    var flow = try password(of: "alice@example.com")
    for _ in 0..<2 {
      flow = try fixture.enter(password: "wrong", at: flow)
      #expect(flow.problem == "wrong_credentials", "\(flow.text)")
    }
    let end = try fixture.enter(password: "wrong", at: flow)
    #expect(end.failure == ["attempts_exhausted", "authError", "100204"], "\(end.text)")
    let message = end["failure"]?["message"]?.stringValue ?? ""
    let left = message.firstMatch(of: /([0-9]+) seconds/).flatMap { Int($0.1) } ?? 0
    #expect((100...200).contains(left), "\(message)")
    try fixture.daemon.restart()
    let after = try fixture.again()
    // The right password is refused as well.
    let again = try after.walk(after.authorize(["read.firstname"]))
    #expect(again.failure == ["attempts_exhausted", "authError", "100204"], "\(again.text)")
    #expect(try after.walk(after.authorize(["read.firstname"]), .bob)["status"] == "succeeded")
    try fixture.sandbox.control("POST", "freedomid/unlock")
    let home = try after.authorize(["read.firstname"])
    #expect(try after.walk(after.choose("other", at: home))["status"] == "succeeded")
  }

  @Test("a wrong Freedom ID 2FA code reports attemptsLeft; an expired one is replaced by resend")
  func secondFactor() throws {
    try fixture.set(["attempts": 3])
    var flow = try fixture.standing(at: "enterCode", ["read.firstname"], .aigerim)
    flow = try fixture.enter(code: fixture.wrongCode(), at: flow)
    #expect(flow.problem == "wrong_code" && flow.stepType == "enterCode", "\(flow.text)")
    #expect(flow["step"]?["attemptsLeft"] == 2)
    let error: JSONValue = ["error": ["message": "the code has expired", "code": 100_203]]
    try fixture.spoil("twoFactor", ["status": 410, "body": error], times: 1)
    let late = try fixture.enter(code: fixture.code(), at: flow)
    #expect(late.problem == "code_expired" && late.stepType == "enterCode", "\(late.text)")
    let fresh = try fixture.submit(["type": "enterCode", "resend": true], to: late)
    #expect(fresh.problem == nil && fresh.stepType == "enterCode", "\(fresh.text)")
    #expect(try fixture.messages().count == 2)
    #expect(try fixture.walk(fresh, .aigerim)["status"] == "succeeded")
  }

  @Test("Freedom ID's expired device token is renewed by PATCH without another log-in")
  func renewed() throws {
    try fixture.authorized(["read.firstname"])
    try fixture.sandbox.control("POST", "freedomid/expireTokens")
    try fixture.authorized(["read.lastname"])
    #expect(try fixture.requests("renew") == 1)
    #expect(try fixture.requests("password") == 1)
  }

  @Test("after a refused renewal, Freedom ID authorize asks for a log-in and keeps the account")
  func renewalRefused() throws {
    let account = try fixture.authorized(["read.firstname"])["result"]?["account"]
    let asked = try fixture.standing(at: "consent", ["read.firstname", "read.lastname"])
    try fixture.sandbox.control("POST", "freedomid/expireTokens", ["kind": "all"])
    let again = try fixture.walk(asked) { $0.state == "authentication" }
    #expect(again.problem == "signed_out" && again.stepType == "choose", "\(again.text)")
    #expect(try fixture.requests("renew") == 1)
    let end = try fixture.walk(again)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["result"]?["account"] == account)
    #expect(end.profile == ["firstname": "Alice", "lastname": "Adams"])
    #expect(try fixture.accounts().count == 1)
  }

  @Test("a Freedom ID password whose answer is lost is not sent again but asked for again")
  func passwordMayBeCounted() throws {
    try fixture.spoil("password", ["reset": true], times: 1)
    let flow = try fixture.standing(at: "enterPassword")
    let again = try fixture.enter(password: "alice-password", at: flow)
    #expect(again.problem == "provider_unreachable", "\(again.text)")
    #expect(again["step"] == flow["step"])
    #expect(try fixture.requests("password") == 1)
    #expect(try fixture.walk(again)["status"] == "succeeded")
  }
}
