import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Restarts and kills the daemon in the middle of a flow. The tests of the flows' state machines
/// cover a restart in each state.
@Suite("Paysafe flows when the daemon restarts or is killed", .mayBlock, .timeLimit(.minutes(10)))
struct PaysafeSurvivalTests {
  private static let sms: JSONValue = ["verification": ["method": "OTP", "channel": "SMS"]]

  @Test("a page opened before a restart of the daemon still completes Paysafe's authorize")
  func openPage() throws {
    let fixture = try PaysafeFixture()
    let flow = try fixture.app.startFlow("paysafe", "authorize")
    let back = try #require(try Customer.decide(at: flow.url).location)
    let after = try fixture.restarted()
    try eventually("the restarted daemon answers at the redirect URL") {
      (try? Web.get(back))?.status == 200
    }
    #expect(try after.app.finished(flow)["status"] == "succeeded")
  }

  @Test(
    "after kill -9, a Paysafe challenge and an attempt in flight are not sent again", .ownProcess)
  func inFlight() throws {
    let fixture = try PaysafeFixture(signedIn: "alice")
    let event = try fixture.event()
    let params =
      Self.sms.objectValue?.merging([
        "eventId": .string(event.id), "walletOperationId": .string(event.operation),
      ]) { $1 } ?? [:]
    let start: JSONValue = ["provider": "paysafe", "kind": "sca", "params": .object(params)]
    let flow = try fixture.holding("challenge", processed: true) {
      try fixture.app.flow(in: fixture.app.call("flow.start", start))
    }
    var after = try fixture.restarted()
    let there = try after.moved(flow, "asks for the code") { $0.stepType == "enterCode" }
    #expect(there.problem == nil, "\(there.text)")
    #expect(try fixture.messages("sms") == 1)
    let code: JSONValue = ["type": "enterCode", "code": .string(try fixture.code())]
    let sent = try after.holding("attempt", processed: true) {
      try after.submit(code, to: there, waitMs: 0)
    }
    try eventually("the provider has verified the SCA event") {
      try fixture.event(event.id)["status"] == "VERIFIED"
    }
    after = try after.restarted()
    let end = try after.app.finished(sent)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.requests("attempt") == 1)
  }

  @Test(
    "after kill -9, a Paysafe payment is not made again, and a step-up can be completed",
    .ownProcess)
  func operations() throws {
    let fixture = try PaysafeFixture(signedIn: "alice")
    let approved = try fixture.pay("120.00", Self.sms)
    let code = try fixture.code()
    let dark = try fixture.holding("payment", processed: true) {
      try fixture.pay("20.00", waitMs: 0)
    }
    try eventually("the provider performs the payment") { try fixture.performed("POST").count == 1 }
    let after = try fixture.restarted()
    let lost = try after.app.finished(dark)
    #expect(lost.failure["reason"] == "provider_unreachable", "\(lost.text)")
    let end = try after.enter(code, to: approved)
    #expect(end["result"]?["status"] == 201, "\(end.text)")
    #expect(try fixture.performed("POST").count == 2)
  }
}
