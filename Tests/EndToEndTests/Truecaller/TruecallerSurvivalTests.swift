import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Restarts and kills the daemon in the middle of a flow. The tests of the flow's state machine
/// cover a restart in each state.
@Suite("Truecaller flows when the daemon restarts or dies", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerSurvivalTests {
  @Test(
    "kill -9 ends verifyPhone during create; after one during verify, the code is asked for again",
    .ownProcess)
  func inFlight() throws {
    let fixture = try TruecallerFixture()
    let begun = try fixture.holding("create", processed: true) { try fixture.start() }
    var after = try fixture.restarted()
    let end = try after.app.finished(begun)
    #expect(end.failure == ["provider_unreachable", "9", nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(try fixture.requests("create") == 1 && fixture.messages().count == 1)

    let flow = try after.verify()
    let code = try fixture.code()
    let sent = try after.holding("verify", processed: true) {
      try after.enter(code, to: flow, waitMs: 0)
    }
    after = try after.restarted()
    let asked = try after.moved(sent, "asks again") { $0.problem[0] != nil }
    #expect(asked.problem == ["interrupted", nil] && asked["state"] == "otpInitiated")
    #expect(asked["step"] == flow["step"], "a restart does not change the TTL")
    #expect(try fixture.requests("verify") == 1)
    #expect(try after.enter(code, to: asked)["status"] == "succeeded")
  }

  @Test("Truecaller verifyPhone keeps its problem, and the wrong codes count, across a restart")
  func problem() throws {
    let fixture = try TruecallerFixture()
    try fixture.set(["wrongCodeCap": 1])
    let flow = try fixture.verify()
    let wrong = try fixture.enter(fixture.wrongCode(), to: flow)
    let after = try fixture.restarted()
    #expect(try after.flow(wrong) == wrong)
    let end = try after.enter(fixture.code(), to: wrong)
    #expect(end.failure == ["attempts_exhausted", "10", "4293"])
  }

  @Test("Truecaller installation, verified number and token survive a restart of the daemon")
  func afterwards() throws {
    let fixture = try TruecallerFixture()
    try fixture.verified()
    let token = try fixture.app.call("token.get", ["provider": "truecaller"])
    let after = try fixture.restarted()
    #expect(try after.app.call("token.get", ["provider": "truecaller"]) == token)
    #expect(try after.verify()["state"] == "verifiedBefore")
    #expect(try fixture.installations().count == 1)
  }
}
