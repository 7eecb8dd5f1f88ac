import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Strong Customer Authentication, one test for each form, through socket, daemon and backend.
///
/// `UsherFlowsTests/Paysafe` covers counters, limits, expiries and refusals of every call.
@Suite("Paysafe's Strong Customer Authentication", .mayBlock, .timeLimit(.minutes(10)))
struct SCATests {
  private static let sms: JSONValue = ["verification": ["method": "OTP", "channel": "SMS"]]

  private let fixture: PaysafeFixture

  init() throws { fixture = try PaysafeFixture(signedIn: "alice") }

  private func succeeded(_ flow: JSONValue, _ event: (id: String, operation: String)) {
    #expect(flow["status"] == "succeeded", "\(flow.text)")
    #expect(flow["result"]?["eventId"] == .string(event.id))
    #expect(flow["result"]?["walletOperationId"] == .string(event.operation))
    #expect(flow["result"]?["status"] == "VERIFIED")
  }

  @Test("a code by SMS verifies a Paysafe event, and no attempt is sent after VERIFIED (trap 4)")
  func code() throws {
    let event = try fixture.event()
    let flow = try fixture.sca(event, Self.sms)
    #expect(flow["state"] == "challenged")
    #expect(flow["key"] == .string(event.id))
    #expect(flow["step"]?["purpose"] == "sca")
    #expect(flow["step"]?["channel"] == "sms")
    #expect(flow["step"]?["digits"] == 6)
    #expect(flow["step"]?["attemptsLeft"] == 3)
    let target = try #require(flow["step"]?["maskedTarget"]?.stringValue)
    let address = try #require(try fixture.message("sms")["to"]?.stringValue)
    #expect(!target.isEmpty && target != address)
    let end = try fixture.enter(fixture.code(), to: flow)
    succeeded(end, event)
    let refused = try fixture.refusal(["type": "enterCode", "code": "123456"], to: end)
    #expect(refused.0 == "flow_finished")
    // Another flow about the verified event succeeds without an attempt, too.
    succeeded(try fixture.app.finished(fixture.start("sca", event, Self.sms)), event)
    #expect(try fixture.requests("attempt") == 1)
  }

  @Test("a PIN verifies a Paysafe event by enterPassword, and a wrong PIN leaves the step open")
  func password() throws {
    let event = try fixture.event()
    let flow = try fixture.sca(event, ["verification": ["method": "PIN"]])
    #expect(flow.stepType == "enterPassword")
    #expect(flow["step"]?["purpose"] == "pin")
    let wrong = try fixture.submit(["type": "enterPassword", "password": "no"], to: flow)
    #expect(wrong.problem == "wrong_code")
    succeeded(try fixture.submit(["type": "enterPassword", "password": "2468"], to: wrong), event)
  }

  @Test("a Paysafe sca flow waits for a push and succeeds when the backend reports the approval")
  func push() throws {
    let event = try fixture.event(["availableVerifications": ["PUSH_NOTIFICATION"]])
    let started = try fixture.start("sca", event, ["verification": ["method": "PUSH_NOTIFICATION"]])
    let flow = try fixture.moved(started, "waits for the person") { $0["state"] == "challenged" }
    #expect(flow.stepType == "wait")
    #expect(flow["step"]?["pollAfterMs"] == 1000)
    try fixture.decide(event.id, approve: true)
    succeeded(try fixture.app.finished(flow), event)
  }

  @Test(
    "a Paysafe sca redirect succeeds when the backend reports approval, whatever its query claims")
  func redirect() throws {
    let event = try fixture.event()
    let flow = try fixture.sca(
      event,
      [
        "verification": ["method": "BIOMETRIC", "channel": "REDIRECT"],
        "returnUrl": "http://127.0.0.1:9/back",
      ])
    #expect(flow.stepType == "openURL")
    #expect(flow["step"]?["completes"] == "poll")
    #expect(flow["step"]?["redirectURI"] == "http://127.0.0.1:9/back")
    // The query claims success, but the customer has not approved.
    let claimed = try fixture.submit(
      ["type": "openURL", "redirectURL": "http://127.0.0.1:9/back?status=success"], to: flow,
      waitMs: 0)
    #expect(claimed["status"] == "active")
    let asked = try fixture.requests("event")
    try eventually("the daemon asks the provider for the event") {
      try fixture.requests("event") > asked
    }
    #expect(try fixture.flow(flow)["status"] == "active")
    let page = try Web.post(flow.url, form: ["decision": "approve"])
    #expect(page.location?.hasPrefix("http://127.0.0.1:9/back?status=success") == true)
    succeeded(try fixture.app.finished(flow), event)
  }

  @Test("past Paysafe's challenge limit resend is rate_limited, and repeating it sends no request")
  func coolDown() throws {
    let event = try fixture.event(["allowableChallenges": 1, "coolDownSeconds": 60])
    let flow = try fixture.sca(event, Self.sms)
    let limited = try fixture.resend(flow)
    #expect(limited["status"] == "active")
    #expect(limited.problem == "rate_limited")
    let pause = try #require(limited["problem"]?["retryAfterMs"]?.integerValue)
    #expect((1...60_000).contains(pause))
    let calls = try fixture.requests("challenge")
    let stillLimited = try fixture.resend(limited)
    #expect(stillLimited.problem == "rate_limited")
    #expect(try fixture.requests("challenge") == calls)
    // The code that was sent before is still valid.
    #expect(try fixture.enter(fixture.code(), to: stillLimited)["status"] == "succeeded")
  }

  @Test("a Paysafe sca flow ends as expired, without any input, when its event's time is over")
  func expiry() throws {
    let clock = MovableClock()
    let fixture = try PaysafeFixture(signedIn: "alice", clock: clock)
    let flow = try fixture.sca(try fixture.event(["eventSeconds": 60]))
    #expect(flow.stepType == "choose", "\(flow.text)")
    try clock.advance(by: 61)
    let end = try fixture.app.finished(flow)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "expired")
  }

  @Test("a malformed Paysafe SCA code is refused by its field and sends no attempt")
  func shape() throws {
    let flow = try fixture.sca(try fixture.event(), Self.sms)
    for code in ["12345", "１２３４５６", String(repeating: "1", count: 4000)] {
      #expect(
        try fixture.refusal(["type": "enterCode", "code": .string(code)], to: flow)
          == ("invalid_input", "input.code"), "\(code.prefix(20))")
    }
    #expect(try fixture.requests("attempt") == 0)
  }

  @Test(
    "a Paysafe sca flow is refused without an account, and with two accounts unless one is named")
  func accounts() throws {
    let params: JSONValue = ["eventId": "evt", "walletOperationId": "op"]
    let start: JSONValue = ["provider": "paysafe", "kind": "sca", "params": params]
    try fixture.signIn(user: "bob")
    let several = try fixture.app.reply(to: "flow.start", start)["error"]?["data"]
    #expect(several?["reason"] == "invalid_params")
    #expect(several?["field"] == "params.account")
    for account in try fixture.app.call("account.list")["accounts"]?.arrayValue ?? [] {
      _ = try fixture.app.call("account.forget", ["account": account["id"] ?? .null])
    }
    let nobody = try fixture.app.reply(to: "flow.start", start)["error"]?["data"]
    #expect(nobody?["reason"] == "interaction_required")
    #expect(nobody?["next"]?["params"]?["kind"] == "authorize", "\(nobody?.text ?? "")")
  }
}

extension PaysafeFixture {
  /// Starts a flow about an event and returns it without waiting.
  func start(
    _ kind: String, _ event: (id: String, operation: String), _ more: JSONValue = [:]
  ) throws -> JSONValue {
    var params = more
    params["eventId"] = .string(event.id)
    params["walletOperationId"] = .string(event.operation)
    return try app.flow(
      in: app.call(
        "flow.start",
        ["provider": "paysafe", "kind": .string(kind), "params": params]))
  }
}
