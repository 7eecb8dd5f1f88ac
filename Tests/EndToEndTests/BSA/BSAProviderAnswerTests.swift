import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// One test for each kind of answer by the provider. `UsherFlowsTests/BSA` covers every answer to
/// every call.
@Suite("Handling of BSA's answers", .mayBlock, .timeLimit(.minutes(10)))
struct BSAProviderAnswerTests {
  private let clock = MovableClock()
  private let fixture: BSAFixture

  init() throws { fixture = try BSAFixture(clock: clock) }

  @Test("a refusal by BSA is reported as its rtCode and our message, without an rtMsg like a token")
  func refused() throws {
    for (rtCode, status, message, isRetryable) in [
      (2012, 200, "the server is being maintained", true),
      (2013, 503, "the client's licence has ended", false),
      (4711, 400, "the provider refuses for a reason that has no name", false),
    ] as [(Int64, Int64, String, Bool)] {
      try fixture.answers(
        "mail",
        ["rtCode": .integer(rtCode), "status": .integer(status), "rtMsg": "canary-of-the-vendor"])
      let flow = try fixture.verifyContact()
      #expect(flow.failure == ["provider_rejected", "\(rtCode)", nil], "\(flow.text)")
      #expect(flow["failure"]?["message"] == .string(message))
      #expect(flow["failure"]?["retryable"] == .bool(isRetryable))
      #expect(!flow.text.contains("canary-of-the-vendor"))
    }
    #expect(try fixture.messages() == [])
  }

  /// Faults of the connection or the answer, and whether the OTP may have been sent.
  private static let faults: [(fault: JSONValue, mayBeSent: Bool)] = [
    (["reset": true], true), (["status": 500], true),
    (["status": 503, "body": ["error": "down"]], true), (["halfBody": true], true),
    (["reset": true, "processed": true], true), (["brokenJSON": true], false),
    (["hugeBody": 2_000_000], false), (["status": 302], false), (["status": 404], false),
    (["body": []], false), (["body": ["rtCode": "0"]], false),
    (["body": ["rtMsg": "fine", "data": [:]]], false),
  ]

  @Test(
    "BSA verifyContact asks for an OTP that may have been sent; an unreadable answer ends the flow")
  func faults() throws {
    for (count, (fault, mayBeSent)) in Self.faults.enumerated() {
      try fixture.spoil("mail", fault, times: 1)
      let flow = try fixture.verifyContact()
      if mayBeSent {
        #expect(
          flow.state == "otpSent" && flow.problem == ["may_have_been_sent", nil],
          "\(fault.text): \(flow.text)")
      } else {
        #expect(
          flow.failure == ["provider_protocol_error", nil, nil], "\(fault.text): \(flow.text)")
      }
      #expect(
        try fixture.requests("mail") == count + 1, "\(fault.text): the daemon calls mail once")
    }
  }

  @Test("BSA verifyContact asks for the OTP again after a lost answer; a used one is code_expired")
  func lostNumber() throws {
    for isProcessed in [false, true] {
      let flow = try fixture.verifyContact()
      try fixture.spoil("mailVerify", ["reset": true, "processed": .bool(isProcessed)], times: 1)
      let asked = try fixture.enter(fixture.number(), to: flow)
      #expect(asked.problem == ["provider_unreachable", nil], "\(asked.text)")
      #expect(asked.state == "otpSent" && asked["step"] == flow["step"])
      let end = try fixture.enter(fixture.number(), to: asked)
      #expect(
        isProcessed
          ? end.problem == ["code_expired", "3006"] : end["status"] == "succeeded", "\(end.text)")
    }
  }

  @Test(
    "a sign-up whose answer is lost is not repeated; BSA reregisterDevice then adds the account")
  func lostSignUp() throws {
    let flow = try fixture.registering()
    try fixture.spoil("users", ["reset": true, "processed": true], times: 1)
    let end = try fixture.prove(flow)
    #expect(end.failure == ["provider_unreachable", nil, nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(end["failure"]?["message"]?.stringValue?.contains("reregisterDevice") == true)
    #expect(try fixture.requests("users") == 1 && fixture.accounts() == [])
    let account = try fixture.reregistered()
    #expect(account["attributes"]?["localAuthType"] == "PASSCODE", "\(account.text)")
    try clock.advance(toNextStepOf: 60)
    #expect(try fixture.code().code == fixture.numberOfSecret())
  }

  @Test(
    "a BSA account without a usable TOTP secret has no codes, and its earlier secret is dropped")
  func lackingSecret() throws {
    func expectNoCodes(_ end: JSONValue) throws {
      let problem = end["result"]?["totpProblem"]?.stringValue
      #expect(problem?.contains("data.secretKey") == true, "\(end.text)")
      #expect(try fixture.app.call("totp.list")["accounts"] == [])
    }
    try fixture.answers("users", ["data": .null])
    try expectNoCodes(fixture.registered())
    _ = try fixture.reregistered()
    #expect(try fixture.app.call("totp.list")["accounts"]?.arrayValue?.count == 1)
    try fixture.answers("device", ["data": ["secretKey": "MFRGGZDF"]])
    let flow = try fixture.start("reregisterDevice", BSAPerson.alice.deviceParams())
    try expectNoCodes(fixture.enter(fixture.number(), to: flow))
    #expect(try fixture.accounts().count == 1)
  }

  @Test("checkUserKey fails with BSA's error code, or with retryAfterMs if BSA is unreachable")
  func checks() throws {
    let (method, params) = (
      "registration.checkUserKey", ["provider": "bsa", "userKey": "alice.01"] as JSONValue
    )
    try fixture.answers("idCheck", ["rtCode": 2012])
    let refused = try fixture.app.error(of: method, params)["data"]
    #expect(refused?["reason"] == "provider_rejected" && refused?["provider"]?["code"] == "2012")
    try fixture.spoil("idCheck", ["status": 503, "headers": ["Retry-After": "7"]], times: 1)
    let down = try fixture.app.error(of: method, params)["data"]
    #expect(down?["reason"] == "provider_unreachable" && down?["retryAfterMs"] == 7000)
    #expect((down?["provider"] ?? .null) == .null, "an unreachable provider has no error code")
    #expect(try fixture.requests("idCheck") == 2, "the daemon does not retry idCheck by itself")
    #expect(try fixture.app.call(method, params)["available"] == true)
  }

  @Test("flow.cancel ends a BSA flow while the provider does not answer")
  func cancelled() throws {
    // Longer than flow.cancel may take below, also on the slowest machine that `TestDeadline`
    // allows for.
    let fixture = try BSAFixture(["request_timeout_seconds": "120"])
    try fixture.spoil("mail", ["delayMs": 600_000])
    let flow = try fixture.begin(
      "verifyContact", ["sendType": "email", "sendTarget": "alice@example.com"])
    let end = try fixture.app.call("flow.cancel", ["flow": flow["id"] ?? .null], within: 20)["flow"]
    #expect(end?["status"] == "cancelled")
  }

  @Test("a flow shows an unreachable BSA as its problem, and system.status reports BSA as failing")
  func gone() throws {
    fixture.sandbox.killAtOnce()
    let flow = try fixture.begin(
      "verifyContact", ["sendType": "email", "sendTarget": "alice@example.com"])
    let troubled = try fixture.moved(flow, "has a problem") { $0.problem[0] != nil }
    #expect(troubled.problem == ["provider_unreachable", nil], "\(troubled.text)")
    #expect(!troubled.text.contains(BSAFixture.clientKey))
    let status = try fixture.app.call("system.status", [:])
    #expect(status["providers"]?[0]?["health"] == "failing", "\(status.text)")
  }

  @Test(
    "a BSA sign-in continues by itself when the provider no longer answers 503 or resets the call",
    arguments: [["status": 503], ["reset": true]] as [JSONValue])
  func downThenUp(fault: JSONValue) throws {
    try fixture.set(["authSeconds": 600])
    try fixture.registered()
    let (flow, visit) = try fixture.pushed()
    try fixture.spoil("auth", fault)
    let troubled = try fixture.moved(fixture.prove(flow, waitMs: 0), "has a problem") {
      $0.problem[0] != nil
    }
    #expect(troubled.problem == ["provider_unreachable", nil] && troubled.state == "starting")
    try eventually("the daemon retries the auth call", moving: clock) {
      try fixture.requests("auth") >= 3
    }
    try fixture.mend()
    let end = try fixture.app.finished(troubled, moving: clock)
    #expect(end["status"] == "succeeded" && (end["problem"] ?? .null) == .null, "\(end.text)")
    #expect(try fixture.atSite(visit)["state"] == "completed")
  }

  @Test("a BSA sign-in repeats a completion whose answer is lost, and the token is stored")
  func lostCompletion() throws {
    try fixture.set(["authSeconds": 600])
    try fixture.registered()
    let (flow, visit) = try fixture.pushed()
    try fixture.spoil("authComplete", ["reset": true, "processed": true], times: 1)
    let end = try fixture.app.finished(fixture.prove(flow, waitMs: 0), moving: clock)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.requests("authComplete") == 2 && fixture.requests("authCancel") == 0)
    #expect(try fixture.atSite(visit)["state"] == "completed")
    let token = try fixture.token(of: end.account)["accessToken"]?.stringValue ?? ""
    #expect(try fixture.owner(of: token) == "alice.01")
  }

  @Test("an unreadable answer ends a BSA sign-in, and the sign-in is cancelled at the provider")
  func unreadableSignIn() throws {
    try fixture.registered()
    let (flow, visit) = try fixture.pushed()
    try fixture.spoil("authComplete", ["brokenJSON": true], times: 1)
    let end = try fixture.app.finished(fixture.prove(flow))
    #expect(end.failure == ["provider_protocol_error", nil, nil], "\(end.text)")
    try eventually("BSA answers authCancel") { try fixture.answered("authCancel") == 1 }
    #expect(try fixture.atSite(visit)["state"] == "cancelled")
    #expect(try fixture.app.reason(of: "token.get", ["provider": "bsa"]) != "none")
  }
}
