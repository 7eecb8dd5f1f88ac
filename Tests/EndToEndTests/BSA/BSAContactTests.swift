import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// One-time passcodes (OTP) that verify a contact, and the accepted forms of contacts.
@Suite("BSA contact verification by OTP", .mayBlock, .timeLimit(.minutes(10)))
struct BSAContactTests {
  private let clock = MovableClock()
  private let fixture: BSAFixture

  init() throws {
    fixture = try BSAFixture(
      ["resend_seconds": "150", "otp_seconds": "180", "max_wrong_codes": "5"], clock: clock)
  }

  @Test(
    "a wrong BSA OTP is reported as wrong_code; a resend after the pause replaces the first OTP")
  func numbers() throws {
    let flow = try fixture.verifyContact(by: "sms")
    let first = try fixture.number()
    let wrong = try fixture.enter(fixture.wrongNumber(), to: flow)
    #expect(wrong.problem == ["wrong_code", "3005"] && wrong.state == "otpSent", "\(wrong.text)")
    #expect(wrong["step"] == flow["step"])
    let input: JSONValue = ["type": "enterCode", "code": "12345"]
    #expect(try fixture.refusal(input, to: wrong) == ("invalid_input", "input.code"))
    let early = try fixture.resend(wrong)
    #expect(early.problem == ["too_early", nil], "\(early.text)")
    #expect((30_000...150_000).contains(early["problem"]?["retryAfterMs"]?.integerValue ?? -1))
    #expect(try fixture.requests("sms") == 1 && fixture.requests("smsVerify") == 1)
    try clock.advance(by: 151)
    var sent = try fixture.resend(early)
    #expect(sent.problem == [nil, nil] && sent.state == "otpSent", "\(sent.text)")
    if try fixture.number() != first {
      sent = try fixture.enter(first, to: sent)
      #expect(sent.problem == ["wrong_code", "3005"], "\(sent.text)")
    }
    #expect(try fixture.enter(fixture.number(), to: sent)["status"] == "succeeded")
  }

  @Test("the wrong OTP of max_wrong_codes ends BSA verifyContact as attempts_exhausted and 3005")
  func fiveWrong() throws {
    try fixture.set(["attempts": 20])
    var flow = try fixture.verifyContact()
    let wrong = try fixture.wrongNumber()
    for _ in 1...5 { flow = try fixture.enter(wrong, to: flow) }
    #expect(flow.failure == ["attempts_exhausted", "3005", nil], "\(flow.text)")
    #expect(try fixture.requests("mailVerify") == 5)
  }

  @Test("an expired BSA OTP is code_expired; after otp_seconds the daemon does not ask BSA")
  func expired() throws {
    let flow = try fixture.verifyContact()
    try fixture.sandbox.control("POST", "bsa/expire", ["what": "numbers"])
    let there = try fixture.enter(fixture.number(), to: flow)
    #expect(there.problem == ["code_expired", "3006"], "\(there.text)")
    try clock.set(ahead: 181)
    let here = try fixture.enter(fixture.number(), to: there)
    #expect(here.problem == ["code_expired", "3006"], "\(here.text)")
    #expect(try fixture.requests("mailVerify") == 1)
  }

  @Test(
    "an invalid contact or userKey fails with BSA rtCode 2002; invalid parameters start no flow")
  func impossible() throws {
    for (kind, params, member) in [
      ("verifyContact", ["sendType": "email", "sendTarget": " "], "sendTarget"),
      ("verifyContact", ["sendType": "sms", "sendTarget": "-"], "sendTarget"),
      ("register", BSAPerson.alice.params() + ["userKey": ".."], "userKey"),
    ] as [(String, JSONValue, String)] {
      let flow = try fixture.start(kind, params)
      #expect(flow.failure == ["invalid_request", "2002", nil], "\(flow.text)")
      let message = flow["failure"]?["message"]?.stringValue
      #expect(message?.hasPrefix("\(member) must be") == true, "\(flow.text)")
      #expect(flow["failure"]?["retryable"] == false)
    }
    for (method, params, field) in [
      ("checkDuplicate", ["verifyType": "email", "verifyData": ""], "verifyData"),
      ("checkUserKey", ["userKey": "a\tbc"], "userKey"),
    ] as [(String, JSONValue, String)] {
      let error = try fixture.app.error(of: "registration.\(method)", params + ["provider": "bsa"])
      #expect(error["data"]?["reason"] == "invalid_params", "\(error.text)")
      #expect(error["data"]?["field"] == .string(field))
    }
    for (kind, params) in [
      ("verifyContact", ["sendType": "fax", "sendTarget": "+447700900123"]),
      ("register", BSAPerson.alice.params("fingers")),
      ("register", BSAPerson.alice.params() + ["agreeGccs": "yes"]),
    ] as [(String, JSONValue)] {
      let reason = try fixture.app.reason(
        of: "flow.start", ["provider": "bsa", "kind": .string(kind), "params": params])
      #expect(reason == "invalid_params", "\(params.text)")
    }
    #expect(try fixture.requestsInOrder() == [])
  }

  @Test("a phone number is sent to BSA without spaces and brackets; both spellings are one contact")
  func writings() throws {
    let flow = try fixture.start(
      "verifyContact", ["sendType": "sms", "sendTarget": "+44 (7700) 900-123"])
    #expect(flow.state == "otpSent", "\(flow.text)")
    let end = try fixture.enter(fixture.number(to: "+447700900123"), to: flow)
    let registered = try fixture.start(
      "register",
      BSAPerson.alice.params() + [
        "disposeToken": end["result"]?["disposeToken"] ?? .null, "verifyBy": "sms",
      ])
    #expect(registered.stepType == "localAuth", "\(registered.text)")
  }
}
