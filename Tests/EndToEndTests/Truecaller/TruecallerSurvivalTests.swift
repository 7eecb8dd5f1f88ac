import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in the middle. What a flow does after a restart in each of its states is asserted by the
/// tests of its machine; here the daemon really dies.
@Suite("Truecaller and kill -9", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerSurvivalTests {
  @Test(
    "a kill while an SMS is asked for ends the flow; while a code is checked it is asked for again",
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
    #expect(asked["step"] == flow["step"], "the TTL is the same")
    #expect(try fixture.requests("verify") == 1)
    #expect(try after.enter(code, to: asked)["status"] == "succeeded")
  }

  @Test("a problem that was told is still told, and the wrong codes still count")
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

  @Test("the installation and what it has verified outlive the daemon; so does the token")
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
